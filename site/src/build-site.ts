/**
 * Builds the site: pages, the files that they link to, a search index, scripts and a style sheet. Any web server can serve these
 * plain files from any folder. Without a server the pages can be read, but browsers do not run their scripts. A broken link is an
 * error.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkLinks } from './check-links.js'
import { homePage } from './home.js'
import { GROUPS, HOME, type PageGroup, pagesOf, type SitePage, sourceOf } from './pages.js'
import { pictureAt } from './picture.js'
import { makeReference } from './reference.js'
import { type Rendered, renderPage } from './render.js'
import { indexOfSite } from './search-index.js'
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

/** Every site has it, so a folder that has it can be overwritten. */
const SEARCH_INDEX = 'assets/search-index.json'
/** The code of the search, which browsers run as well. */
const SEARCH_MODULES = [
  new URL('./search/excerpt.js', import.meta.url),
  new URL('./search/find.js', import.meta.url),
  new URL('./search/synonyms.js', import.meta.url),
  new URL('./search/words.js', import.meta.url),
]
/** The files of packages that the site's scripts import, by the names in the import map of `template.ts`. */
const BROWSER_PACKAGES = ['minisearch', 'stemmer']

/**
 * `repository` ends with a slash. Throws if a link is broken, if a page of docs/ is not on the site, or if the folder `out` contains
 * anything but an older build.
 */
export async function buildSite(repository: string, out: string): Promise<BuiltSite> {
  checkReplaceable(out)
  const groups = [...GROUPS, decisionsOf(repository)]
  const drafts = await readDrafts(repository, groups)
  checkAllThere(repository, drafts)
  const files = new Set<string>()
  const rendered = renderAll(repository, drafts, files)
  rmSync(out, { recursive: true, force: true })
  const search = indexOfSite(
    drafts.map(({ page }) => page),
    rendered,
  )
  write(out, SEARCH_INDEX, search)
  for (const { page } of drafts) {
    write(out, `${page.path}.html`, pageHtml({ page, rendered: rendered.get(page.path)!, groups }))
  }
  for (const file of files) copy(repository, file, out)
  copyAssets(out)
  const links = checkLinks(rendered, out)
  return { pages: drafts.length, links, searchBytes: Buffer.byteLength(search) }
}

function checkReplaceable(out: string): void {
  const exists = statSync(out, { throwIfNoEntry: false }) !== undefined
  if (!exists || readdirSync(out).length === 0) return
  if (statSync(join(out, SEARCH_INDEX), { throwIfNoEntry: false })) return
  throw new Error(
    `${out} contains files that are not part of this site. Choose a new or empty folder, so that nothing is overwritten.`,
  )
}

/** Adds to `files` the files of the repository that pages link to. */
function renderAll(repository: string, drafts: readonly Draft[], files: Set<string>): ReadonlyMap<string, Rendered> {
  const pathOf = new Map(drafts.map(({ source, page }) => [source, page.path]))
  const fileAddress = fileAddressOf(repository)
  return new Map(
    drafts.map(({ page, source, markdown }) => [
      page.path,
      renderPage(markdown, {
        source,
        fileAddress,
        resolve: (path, anchor) => resolve(page, path, anchor, pathOf, files),
        pictureAt: path => pictureAt(repository, path),
      }),
    ]),
  )
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
  return {
    title: 'Decisions',
    about: 'Why it was built this way, and what else was measured.',
    topics: [{ pages }],
    isLong: true,
  }
}

async function readDrafts(repository: string, groups: readonly PageGroup[]): Promise<readonly Draft[]> {
  const read = (path: string) => readFileSync(join(repository, path), 'utf8')
  const made = await makeReference(read('docs/errors.md'))
  const home = { page: HOME, source: HOME.source!, markdown: homePage(read(HOME.source!), groups) }
  const others = groups.flatMap(pagesOf).map(page => {
    const source = sourceOf(page)
    if (page.source !== undefined) return { page, source, markdown: read(source) }
    const markdown = made.get(page.path)
    if (markdown === undefined) throw new Error(`No code generates the page ${page.path}. See site/src/reference.ts.`)
    return { page, source, markdown }
  })
  return [home, ...others]
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

function copyAssets(out: string): void {
  const assets = join(out, 'assets')
  cpSync(fileURLToPath(new URL('../assets', import.meta.url)), assets, { recursive: true })
  for (const module of SEARCH_MODULES) {
    const file = fileURLToPath(module)
    cpSync(file, join(assets, 'search', basename(file)))
  }
  for (const name of BROWSER_PACKAGES) {
    cpSync(fileURLToPath(import.meta.resolve(name)), join(assets, `${name}.js`))
  }
}

function write(folder: string, path: string, text: string): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
