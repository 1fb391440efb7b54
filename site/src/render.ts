/** Turns Markdown into pages: headings with the same anchors as on GitHub, links to pages of the site, and text for the search. */
import { posix } from 'node:path'
import { Marked, type Tokens } from 'marked'

export interface Rendered {
  readonly html: string
  readonly headings: readonly Heading[]
  /** Links to other pages and files: as written, and their targets. */
  readonly links: readonly string[]
  readonly sections: readonly Section[]
}

export interface Heading {
  readonly depth: number
  readonly id: string
  readonly text: string
}

/** The text between two headings, as plain text. */
export interface Section {
  readonly id: string
  readonly heading: string
  readonly text: string
}

export interface RenderOptions {
  /** The path of the page in the repository. */
  readonly source: string
  /** What an address begins with that is of a file of the repository: READMEs of packages link by it, as npm shows them, too. */
  readonly fileAddress: string
  /** The address on the site of a path in the repository, relative to this page. */
  resolve(path: string, anchor: string): string
}

export function renderPage(markdown: string, { source, fileAddress, resolve }: RenderOptions): Rendered {
  const headings: Heading[] = []
  const links: string[] = []
  const sections: { id: string; heading: string; text: string }[] = [{ id: '', heading: '', text: '' }]
  const ids = new Map<string, number>()
  const target = (href: string) => {
    const isOfFile = href.startsWith(fileAddress)
    if (/^[a-z]+:/.test(href) && !isOfFile) return href
    const [path = '', anchor] = href.slice(isOfFile ? fileAddress.length : 0).split('#')
    const file = isOfFile ? path : posix.join(posix.dirname(source), path)
    const found = path === '' ? `#${anchor}` : resolve(file, anchor ? `#${anchor}` : '')
    links.push(found)
    return found
  }
  const marked = new Marked({ gfm: true, async: false })
  marked.use({
    walkTokens(token) {
      const last = sections.at(-1)!
      if (token.type === 'heading') sections.push({ id: '', heading: plainOf(token as Tokens.Heading), text: '' })
      else if (['text', 'codespan', 'code'].includes(token.type)) last.text += ` ${(token as Tokens.Text).text}`
      else if (token.type === 'html') last.text += ` ${plainHtml((token as Tokens.HTML).text)}`
    },
    renderer: {
      heading(token: Tokens.Heading): string {
        const text = plainOf(token)
        const id = uniqueId(text, ids)
        headings.push({ depth: token.depth, id, text })
        const inner = this.parser.parseInline(token.tokens)
        return `<h${token.depth} id="${id}">${inner} <a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a></h${token.depth}>\n`
      },
      link({ href, title, tokens }: Tokens.Link): string {
        const about = title ? ` title="${escapeHtml(title)}"` : ''
        return `<a href="${escapeHtml(target(href))}"${about}>${this.parser.parseInline(tokens)}</a>`
      },
      image({ href, text }: Tokens.Image): string {
        return `<img src="${escapeHtml(target(href))}" alt="${escapeHtml(text)}" loading="lazy">`
      },
      // Scrollable elements must be reachable by keyboard.
      code({ text, lang = '' }: Tokens.Code): string {
        return `<pre tabindex="0"><code${lang === '' ? '' : ` class="language-${escapeHtml(lang)}"`}>${escapeHtml(text)}\n</code></pre>\n`
      },
      table(token: Tokens.Table): string {
        const row = (cells: Tokens.TableCell[]) =>
          `<tr>${cells.map(cell => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')}</tr>`
        const heads = token.header.map(cell =>
          cell.text === '' ? '<td></td>' : `<th>${this.parser.parseInline(cell.tokens)}</th>`,
        )
        const body = token.rows.map(row).join('\n')
        return `<div class="table" tabindex="0"><table><thead><tr>${heads.join('')}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
      },
    },
  })
  const html = marked.parse(markdown) as string
  // Headings are visited in the order in which they are rendered.
  sections.slice(1).forEach((section, i) => {
    section.id = headings[i]!.id
  })
  return { html, headings, links, sections }
}

function plainOf({ text }: Tokens.Heading): string {
  return text.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1')
}

/** For generated pages, whose signatures are HTML, because Markdown has no links within code. */
function plainHtml(text: string): string {
  const plain = text.replaceAll(/<[^>]*>/g, ' ')
  return plain.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')
}

/** As GitHub generates them, so that links work there as well. */
export function uniqueId(text: string, ids: Map<string, number>): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
  const count = ids.get(plain) ?? 0
  ids.set(plain, count + 1)
  return count === 0 ? plain : `${plain}-${count}`
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
