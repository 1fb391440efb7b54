/** The frame of every page: the list of pages, the contents of this page, and the search. */
import { posix } from 'node:path'
import { HOME, type PageGroup, type PageTopic, pagesOf, type SitePage } from './pages.js'
import { escapeHtml, type Rendered } from './render.js'

export interface PageParts {
  readonly page: SitePage
  readonly rendered: Rendered
  readonly groups: readonly PageGroup[]
}

const CONTENTS_MIN = 3
/** The widths at which `site.css` folds the list of pages and the contents of a page. */
const NARROW = '(max-width: 48rem)'
const MEDIUM = '(max-width: 75rem)'

export function pageHtml({ page, rendered, groups }: PageParts): string {
  const root = posix.relative(posix.dirname(page.path), '') || '.'
  const isHome = page === HOME
  const styles = ['site', 'search', 'figures', 'code', ...(isHome ? ['home'] : [])]
  const title = isHome ? 'Freshet' : `${page.title} - Freshet`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="${root}/assets/favicon.svg">
${styles.map(name => `<link rel="stylesheet" href="${root}/assets/${name}.css">`).join('\n')}
<script type="importmap">{"imports":{"minisearch":"${root}/assets/minisearch.js","stemmer":"${root}/assets/stemmer.js"}}</script>
<script type="module" src="${root}/assets/site.js"></script>
</head>
<body${isHome ? ' class="home"' : ''}>
<a class="skip" href="#content">Skip to content</a>
<header>
<a class="name" href="${root}/index.html"><img src="${root}/assets/favicon.svg" alt="Freshet" width="20" height="20"><span aria-hidden="true">Freshet</span></a>
<search>
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search" aria-controls="found" autocomplete="off" spellcheck="false">
<p id="found-count" class="unseen" role="status"></p>
<div id="found" hidden></div>
</search>
</header>
<div class="columns">
<nav aria-label="Pages"><details class="menu" data-folded="${NARROW}" open><summary>Pages</summary>
<div>${navigation(page, groups, root)}</div>
</details></nav>
${FOLD}
${isHome ? '' : contents(rendered)}
<main id="content">
${rendered.html}
</main>
</div>
</body>
</html>
`
}

/** Folds the \`details\` before it where they would fill the screen. It runs at once, so that nothing moves later. */
const FOLD = `<script>for (const each of document.querySelectorAll('[data-folded]')) each.open = !matchMedia(each.dataset.folded).matches</script>`

function navigation(page: SitePage, groups: readonly PageGroup[], root: string): string {
  return groups
    .map(group => {
      const isOpen = pagesOf(group).includes(page) || (page === HOME && !group.isLong)
      const lists = group.topics.map(topic => topicList(topic, page, root))
      return `<details${isOpen ? ' open' : ''}><summary>${group.title}</summary>${lists.join('')}</details>`
    })
    .join('\n')
}

function topicList({ title, pages }: PageTopic, page: SitePage, root: string): string {
  const items = pages.map(each => {
    const current = each.path === page.path ? ' aria-current="page"' : ''
    return `<li><a href="${root}/${each.path}.html"${current}>${escapeHtml(each.title)}</a></li>`
  })
  return `${title === undefined ? '' : `<p>${title}</p>`}<ul>${items.join('')}</ul>`
}

/** Only on pages with enough headings to get lost. */
function contents({ headings }: Rendered): string {
  const shown = headings.filter(({ depth }) => depth === 2)
  if (shown.length < CONTENTS_MIN) return ''
  const items = shown.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`)
  return `<aside aria-label="On this page"><details data-folded="${MEDIUM}" open><summary>On this page</summary><ul>${items.join('')}</ul></details></aside>
${FOLD}`
}
