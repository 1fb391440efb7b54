/** The frame of every page: the list of pages, the contents of this page, and the search. */
import { posix } from 'node:path'
import type { PageGroup, SitePage } from './pages.js'
import { escapeHtml, type Rendered } from './render.js'

export interface PageParts {
  readonly page: SitePage
  readonly rendered: Rendered
  readonly groups: readonly PageGroup[]
}

const CONTENTS_MIN = 3

export function pageHtml({ page, rendered, groups }: PageParts): string {
  const root = posix.relative(posix.dirname(page.path), '') || '.'
  const title = page.path === 'index' ? 'Freshet' : `${page.title} - Freshet`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="${root}/assets/site.css">
<script type="module" src="${root}/assets/site.js" data-root="${root}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<button id="menu" aria-expanded="false" aria-controls="pages">Pages</button>
<a class="name" href="${root}/index.html">Freshet</a>
<search><input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off"></search>
</header>
<ol id="found" hidden aria-label="Search results"></ol>
<div class="columns">
<nav id="pages" aria-label="Pages">${navigation(page, groups, root)}</nav>
<main id="content">
${rendered.html}
</main>
${contents(rendered)}
</div>
</body>
</html>
`
}

function navigation(page: SitePage, groups: readonly PageGroup[], root: string): string {
  return groups
    .map(({ title, pages }) => {
      const isOpen = title !== 'Decisions' || pages.includes(page)
      const items = pages.map(each => {
        const current = each.path === page.path ? ' aria-current="page"' : ''
        return `<li><a href="${root}/${each.path}.html"${current}>${escapeHtml(each.title)}</a></li>`
      })
      return `<details${isOpen ? ' open' : ''}><summary>${title}</summary><ul>${items.join('')}</ul></details>`
    })
    .join('\n')
}

/** Only on pages with enough headings to get lost. */
function contents({ headings }: Rendered): string {
  const shown = headings.filter(({ depth }) => depth === 2)
  if (shown.length < CONTENTS_MIN) return ''
  const items = shown.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`)
  return `<aside aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></aside>`
}
