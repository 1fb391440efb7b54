/**
 * Builds the site: pages, the files that they link to, a search index, a script and a style sheet. Any web server can serve these
 * plain files from any folder, and they work without a server. A broken link is an error.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import MiniSearch from 'minisearch'
import { GROUPS, type PageGroup, type SitePage } from './pages.js'
import { makeReference } from './reference.js'
import { type Rendered, renderPage } from './render.js'
import { pageHtml } from './template.js'

export interface BuiltSite {
  readonly pages: number
  readonly links: number
  readonly searchBytes: number
}

interface Draft {
  readonly page: SitePage
  readonly source: string
  readonly markdown: string
}

const SEARCH_FIELDS = ['heading', 'title', 'text']

/** `repository` ends with a slash. Throws if a link is broken, or if a page of docs/ is not on the site. */
export async function buildSite(repository: string, out: string): Promise<BuiltSite> {
  const groups = [...GROUPS, decisionsOf(repository)]
  const drafts = await readDrafts(repository, groups)
  checkAllThere(repository, drafts)
  const pathOf = new Map(drafts.map(({ source, page }) => [source, page.path]))
  const files = new Set<string>()
  const fileAddress = fileAddressOf(repository)
  const rendered = new Map<string, Rendered>()
  for (const { page, source, markdown } of drafts) {
    rendered.set(
      page.path,
      renderPage(markdown, {
        source,
        fileAddress,
        resolve: (path, anchor) => resolve(page, path, anchor, pathOf, files),
      }),
    )
  }
  rmSync(out, { recursive: true, force: true })
  for (const { page } of drafts) {
    write(out, `${page.path}.html`, pageHtml({ page, rendered: rendered.get(page.path)!, groups }))
  }
  for (const file of files) copy(repository, file, out)
  const search = searchIndex(drafts, rendered)
  write(out, 'assets/search-index.json', search)
  copyAssets(out)
  const links = checkLinks(rendered, out)
  return { pages: drafts.length, links, searchBytes: Buffer.byteLength(search) }
}

function fileAddressOf(repository: string): string {
  const { homepage } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { homepage: string }
  return `${homepage.replace(/#.*$/, '')}/blob/main/`
}

function decisionsOf(repository: string): PageGroup {
  const names = readdirSync(join(repository, 'docs/decisions'))
    .filter(name => name.endsWith('.md'))
    .sort()
  const pages = names.map((name): SitePage => {
    const source = `docs/decisions/${name}`
    const [, title = name] = /^# (.*)$/m.exec(readFileSync(join(repository, source), 'utf8')) ?? []
    return { source, path: `decisions/${name.slice(0, -3)}`, title: title.replaceAll('`', '') }
  })
  return { title: 'Decisions', pages }
}

async function readDrafts(repository: string, groups: readonly PageGroup[]): Promise<readonly Draft[]> {
  const read = (path: string) => readFileSync(join(repository, path), 'utf8')
  const made = await makeReference(read('docs/errors.md'))
  return groups
    .flatMap(({ pages }) => pages)
    .map(page => {
      const { source } = page
      if (source !== undefined) return { page, source, markdown: read(source) }
      const markdown = made.get(page.path)
      if (markdown === undefined) throw new Error(`No code generates the page ${page.path}. See site/src/reference.ts.`)
      return { page, source: `docs/${page.path}.md`, markdown }
    })
}

function checkAllThere(repository: string, drafts: readonly Draft[]): void {
  const known = new Set(drafts.map(({ source }) => source))
  const pages = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
  const missing = pages
    .map(name => `docs/${name.replaceAll('\\', '/')}`)
    .filter(path => path.endsWith('.md') && !known.has(path))
  if (missing.length > 0) throw new Error(`Not on the site: ${missing.join(', ')}. Add them to site/src/pages.ts.`)
}

/** The address of a page, or of a repository file, which is copied to the site. */
function resolve(
  page: SitePage,
  path: string,
  anchor: string,
  pathOf: ReadonlyMap<string, string>,
  files: Set<string>,
): string {
  const plain = path.replace(/\/$/, '')
  const found = pathOf.get(plain) ?? pathOf.get(`${plain}/README.md`)
  if (found === undefined) files.add(plain)
  const target = found === undefined ? `files/${plain}` : `${found}.html`
  return posix.relative(posix.dirname(page.path), target) + anchor
}

function copy(repository: string, file: string, out: string): void {
  const from = join(repository, file)
  const to = join(out, 'files', file)
  mkdirSync(dirname(to), { recursive: true })
  if (!statSync(from, { throwIfNoEntry: false })) return
  cpSync(from, to, { recursive: true })
  if (statSync(from).isDirectory()) write(to, 'index.html', listOf(file, readdirSync(from)))
}

function listOf(folder: string, names: readonly string[]): string {
  const items = names.map(name => `<li><a href="${name}">${name}</a></li>`).join('')
  return `<!doctype html><meta charset="utf-8"><title>${folder}</title><h1>${folder}</h1><ul>${items}</ul>`
}

function searchIndex(drafts: readonly Draft[], rendered: ReadonlyMap<string, Rendered>): string {
  const index = new MiniSearch({ fields: SEARCH_FIELDS, storeFields: ['title', 'heading', 'url', 'text'] })
  let id = 0
  for (const { page } of drafts) {
    for (const section of rendered.get(page.path)!.sections) {
      // Headings are also visited as part of the text.
      const text = section.text.replaceAll(/\s+/g, ' ').trim().slice(section.heading.length).trim()
      if (text === '' && section.heading === '') continue
      const url = `${page.path}.html${section.id === '' ? '' : `#${section.id}`}`
      index.add({ id: id++, title: page.title, heading: section.heading, url, text: text.slice(0, 2000) })
    }
  }
  return JSON.stringify(index)
}

function copyAssets(out: string): void {
  const assets = fileURLToPath(new URL('../assets', import.meta.url))
  cpSync(assets, join(out, 'assets'), { recursive: true })
  const minisearch = fileURLToPath(import.meta.resolve('minisearch'))
  cpSync(minisearch, join(out, 'assets/minisearch.js'))
}

/** Returns the number of links. */
function checkLinks(rendered: ReadonlyMap<string, Rendered>, out: string): number {
  const broken: string[] = []
  let count = 0
  for (const [path, { links }] of rendered) {
    for (const link of links) {
      count++
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? `${path}.html` : posix.join(posix.dirname(path), file)
      const page = rendered.get(target.replace(/\.html$/, ''))
      const isThere = page !== undefined || statSync(join(out, target), { throwIfNoEntry: false }) !== undefined
      const hasAnchor = anchor === undefined || page === undefined || page.headings.some(({ id }) => id === anchor)
      if (!isThere || !hasAnchor) broken.push(`${path}: ${link}`)
    }
  }
  if (broken.length > 0) throw new Error(`These links are broken:\n${broken.join('\n')}`)
  return count
}

function write(folder: string, path: string, text: string): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
