/** Makes the file that the search of the site reads. */
import MiniSearch from 'minisearch'
import { HOME, type SitePage } from './pages.js'
import type { Rendered } from './render.js'
import { INDEX_OPTIONS, type IndexedSection } from './search/find.js'

const WEIGHT_OF_BEGINNING = 1.25
/** Decisions and changes: readers who search want to know how things are today. */
const WEIGHT_OF_HISTORY = 0.3

export function indexOfSite(pages: readonly SitePage[], rendered: ReadonlyMap<string, Rendered>): string {
  const index = new MiniSearch(INDEX_OPTIONS)
  const sections = pages.flatMap(page => sectionsOf(page, rendered.get(page.path)!))
  index.addAll(sections.map((section, id) => ({ id, ...section })))
  return JSON.stringify(index)
}

function sectionsOf(page: SitePage, { sections }: Rendered): readonly Omit<IndexedSection, 'id'>[] {
  return sections
    .filter(({ depth }) => !(page === HOME && depth === DEPTH_OF_CARDS))
    .map(({ id, heading, depth, text, code }) => ({
      title: page.title,
      heading,
      // Prose first: an excerpt shows it if both have the words.
      text: `${withoutHeading(text, heading)} ${code.replaceAll(/\s+/g, ' ')}`.trim(),
      url: `${page.path}.html${id === '' ? '' : `#${id}`}`,
      weight: (isHistory(page) ? WEIGHT_OF_HISTORY : 1) * (depth <= 1 ? WEIGHT_OF_BEGINNING : 1),
    }))
    .filter(({ text, heading }) => text !== '' || heading !== '')
}

/** Headings are also visited as part of the text, and spaces separate what was formatted differently. */
function withoutHeading(text: string, heading: string): string {
  const tidy = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[,.;:!?)\]](?:\s|$))|(?<=[([]) /g, '')
    .trim()
  const spaced = heading.replaceAll(/\s+/g, ' ').trim()
  return tidy.startsWith(spaced) ? tidy.slice(spaced.length).trim() : tidy
}

/** The home page lists the titles of all pages, and would be found by each of them. */
const DEPTH_OF_CARDS = 3

function isHistory({ path }: SitePage): boolean {
  return path.startsWith('decisions/') || path === 'changelog'
}

/** As the browser reads it. */
export function readIndex(text: string): MiniSearch<IndexedSection> {
  return MiniSearch.loadJSON(text, INDEX_OPTIONS)
}
