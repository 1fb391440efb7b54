/** Finds sections of the site by what a reader has typed. The browser has the index, a file that the build made (`search-index.ts`). */
import type { default as MiniSearch, Options, Query, SearchOptions, SearchResult } from 'minisearch'
import { type Synonym, synonymsOf } from './synonyms.js'
import { indexed, stemOf, wordsOf } from './words.js'

/** A section as the index has it: the text between two headings. */
export interface IndexedSection {
  readonly id: number
  /** Of the page. */
  readonly title: string
  readonly heading: string
  readonly text: string
  readonly url: string
  /** More than 1 for the beginning of a page, less than 1 for pages of history. */
  readonly weight: number
}

export type FoundSection = SearchResult & IndexedSection

/** The same when the index is built and when it is read. */
export const INDEX_OPTIONS: Options<IndexedSection> = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'text', 'url', 'weight'],
  tokenize: wordsOf,
  processTerm: indexed,
}

const BOOSTS = { heading: 5, title: 3, text: 1 }
const STEM_SCORE = 0.9
const PREFIX_LENGTH_MIN = 2
/** A typing error is more likely in a long word, and a short one resembles too many others. */
const MISSPELT_LENGTH_MIN = 5
const LONG_LENGTH_MIN = 7
const SECTIONS_PER_PAGE = 4

/**
 * The best section first. A section contains every word, or a form or a synonym of it. If no section does, one that contains words
 * spelt similarly; and if there is still nothing, one that contains some of the words.
 */
export function findSections(index: MiniSearch<IndexedSection>, typed: string): readonly FoundSection[] {
  const words = wordsOf(typed)
  if (words.length === 0) return []
  const search = (query: Query) => index.search(query, SEARCH_OPTIONS) as FoundSection[]
  const attempts = [
    () => search({ combineWith: 'AND', queries: words.map(formsOf) }),
    () => search({ combineWith: 'AND', queries: words.map(misspelt) }),
    () => (words.length === 1 ? [] : search({ combineWith: 'OR', queries: words.map(formsOf) })),
  ]
  for (const attempt of attempts) {
    const found = attempt()
    if (found.length > 0) return fewOfEachPage(found)
  }
  return []
}

const SEARCH_OPTIONS: SearchOptions = {
  boost: BOOSTS,
  // A long section is not much worse than a short one: the page of the client has long ones.
  bm25: { k: 1.2, b: 0.4, d: 0.5 },
  boostDocument: (_id, _term, section) => section!.weight as number,
  // The words have been processed.
  tokenize: text => [text],
  processTerm: term => term,
}

function formsOf(word: string): Query {
  const stem = stemOf(word)
  const own: Query = { queries: [word], prefix: word.length >= PREFIX_LENGTH_MIN }
  const sameStem: Query = { queries: [stem], boostTerm: () => STEM_SCORE }
  return { combineWith: 'OR', queries: [own, ...(stem === word ? [] : [sameStem]), ...synonymsOf(word).map(queryFor)] }
}

/** The words of a phrase need not follow each other in a section, so a longer phrase says less. */
function queryFor({ phrase, score }: Synonym): Query {
  const stems = wordsOf(phrase).map(stemOf)
  return { combineWith: 'AND', queries: stems, boostTerm: () => score / stems.length ** 2 }
}

function misspelt(word: string): Query {
  return { queries: [word], prefix: true, fuzzy: lettersWrongMax(word) }
}

function lettersWrongMax({ length }: string): number | false {
  if (length < MISSPELT_LENGTH_MIN) return false
  return length < LONG_LENGTH_MIN ? 1 : 2
}

/** So that one long page about a subject does not hide all others. */
function fewOfEachPage(found: readonly FoundSection[]): readonly FoundSection[] {
  const counts = new Map<string, number>()
  return found.filter(({ title }) => {
    const count = (counts.get(title) ?? 0) + 1
    counts.set(title, count)
    return count <= SECTIONS_PER_PAGE
  })
}
