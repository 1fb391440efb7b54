/** Turns Markdown into pages: headings with the same anchors as on GitHub, links to pages of the site, and text for the search. */
import { posix } from 'node:path'
import { Marked, type RendererObject, type Token, type Tokens } from 'marked'
import { highlight } from './highlight.js'
import type { Picture } from './picture.js'

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
  /** Of the heading; 0 before the first one. */
  readonly depth: number
  readonly text: string
  /** The code among the text. */
  readonly code: string
}

export interface RenderOptions {
  /** The path of the page in the repository. */
  readonly source: string
  /** What an address begins with that is of a file of the repository: READMEs of packages link by it, as npm shows them, too. */
  readonly fileAddress: string
  /** The address on the site of a path in the repository, relative to this page. */
  resolve(path: string, anchor: string): string
  /** About the picture at a path in the repository. */
  pictureAt(path: string): Picture
}

const COPY_BUTTON_LETTERS = 8

export function renderPage(markdown: string, options: RenderOptions): Rendered {
  const headings: Heading[] = []
  const links: string[] = []
  const sections: { -readonly [Key in keyof Section]: Section[Key] }[] = [
    { id: '', heading: '', depth: 0, text: '', code: '' },
  ]
  const marked = new Marked({ gfm: true, async: false })
  marked.use({
    walkTokens(token) {
      if (token.type === 'heading') {
        const heading = token as Tokens.Heading
        sections.push({ id: '', heading: plainOf(heading), depth: heading.depth, text: '', code: '' })
      }
      const section = sections.at(-1)!
      if (token.type === 'code') section.code += ` ${(token as Tokens.Code).text}`
      else section.text += textOf(token)
    },
    renderer: rendererOf(options, headings, links),
  })
  const html = marked.parse(markdown) as string
  // Headings are visited in the order in which they are rendered.
  sections.slice(1).forEach((section, i) => {
    section.id = headings[i]!.id
  })
  return { html, headings, links, sections }
}

/** The text that a token adds to its section; tokens within it are visited on their own. */
function textOf(token: Token): string {
  if ('tokens' in token && token.tokens !== undefined) return ''
  if (['text', 'escape', 'codespan'].includes(token.type)) return ` ${(token as Tokens.Text).text}`
  return token.type === 'html' ? ` ${plainHtml((token as Tokens.HTML).text)}` : ''
}

/** Adds to `headings` and `links` what it renders. */
function rendererOf(options: RenderOptions, headings: Heading[], links: string[]): RendererObject {
  const ids = new Map<string, number>()
  const target = (href: string) => {
    const path = pathOf(href, options)
    if (path === undefined) return href
    const found = path.file === '' ? path.anchor : options.resolve(path.file, path.anchor)
    links.push(found)
    return found
  }
  return {
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
    paragraph({ tokens }: Tokens.Paragraph): string {
      const inner = this.parser.parseInline(tokens)
      return tokens.length === 1 && tokens[0]!.type === 'image' ? `${inner}\n` : `<p>${inner}</p>\n`
    },
    image({ href, text }: Tokens.Image): string {
      const path = pathOf(href, options)
      if (path === undefined) return `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}" loading="lazy">`
      const picture = options.pictureAt(path.file)
      const narrow = picture.narrow && options.resolve(picture.narrow.path, '')
      return figure({ text, picture, address: target(href), narrow })
    },
    code: ({ text, lang = '' }: Tokens.Code) => codeBlock(text, lang),
    table(token: Tokens.Table): string {
      const row = (cells: Tokens.TableCell[]) =>
        `<tr>${cells.map(cell => `<td>${this.parser.parseInline(cell.tokens)}</td>`).join('')}</tr>`
      const heads = token.header.map(cell =>
        cell.text === '' ? '<td></td>' : `<th>${this.parser.parseInline(cell.tokens)}</th>`,
      )
      const body = token.rows.map(row).join('\n')
      return `<div class="table"${scrollable('Table')}><table><thead><tr>${heads.join('')}</tr></thead><tbody>\n${body}</tbody></table></div>\n`
    },
  }
}

/** The file in the repository that a link leads to, or '' for the same page; undefined for addresses elsewhere. */
function pathOf(href: string, { source, fileAddress }: RenderOptions): { file: string; anchor: string } | undefined {
  const isOfFile = href.startsWith(fileAddress)
  if (/^[a-z]+:/.test(href) && !isOfFile) return undefined
  const [path = '', anchor] = href.slice(isOfFile ? fileAddress.length : 0).split('#')
  const file = path === '' || isOfFile ? path : posix.join(posix.dirname(source), path)
  return { file, anchor: anchor ? `#${anchor}` : '' }
}

/** Elements that may scroll must be reachable by keyboard. The site's script takes those out of the order that fit. */
function scrollable(name: string): string {
  return ` tabindex="0" role="group" aria-label="${name}"`
}

function codeBlock(text: string, language: string): string {
  const coloured = highlight(text, language) ?? escapeHtml(text)
  const name = language === '' ? '' : ` class="language-${escapeHtml(language)}"`
  return `<div class="code${beginsLong(text) ? ' begins-long' : ''}"><pre${scrollable('Code')}><code${name}>${coloured}\n</code></pre></div>\n`
}

/** The end of the first line would be under the copy button, also when it has been scrolled to. */
function beginsLong(text: string): boolean {
  const [first = 0, ...others] = text.split('\n').map(line => line.length)
  return first > Math.max(0, ...others) - COPY_BUTTON_LETTERS
}

interface FigureParts {
  readonly text: string
  readonly picture: Picture
  readonly address: string
  /** The address of the narrow form. */
  readonly narrow: string | undefined
}

/** A picture links to its file, where a reader can enlarge it. A screen that is too narrow for a diagram gets its narrow form. */
function figure({ text, picture: { width, height, narrow: narrowSize }, address, narrow }: FigureParts): string {
  const image = `<img src="${address}" alt="${escapeHtml(text)}" width="${width}" height="${height}" loading="lazy">`
  const isDrawing = address.endsWith('.svg')
  if (narrowSize === undefined) {
    return `<figure class="${isDrawing ? 'drawing' : 'photo'}" style="--width: ${width}px"><a href="${address}">${image}</a></figure>`
  }
  const source = `<source media="(max-width: 48rem)" srcset="${narrow}" width="${narrowSize.width}" height="${narrowSize.height}">`
  const style = `--width: ${width}px; --narrow-width: ${narrowSize.width}px`
  return `<figure class="drawing" style="${style}"><a href="${address}"><picture>${source}${image}</picture></a></figure>`
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
