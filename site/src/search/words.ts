/** How the search compares words: in lower case, and by their stems. Runs in Node, which builds the index, and in browsers. */
import { stemmer } from 'stemmer'

const WORD = /[\p{L}\p{N}]+/gu
/** Both spellings of serialise, and its forms: the stemmer knows only the American one, and not that -able belongs to it. */
const BRITISH_OR_AMERICAN = /(?<=[a-z]{3})i[sz](?:e|es|ed|er|ers|ing|able|ability|ation|ations)$/
/** Its stem would be that of "invalid", which is about mistakes in requests. */
const INVALIDATE = /^invalidat(?:e|es|ed|ing|ion|ions)$/

export interface PlacedWord {
  readonly word: string
  readonly from: number
  readonly to: number
}

export function wordsOf(text: string): string[] {
  return placedWords(text).map(({ word }) => word)
}

export function placedWords(text: string): PlacedWord[] {
  return [...text.matchAll(WORD)].map(({ 0: word, index }) => ({
    word: word.toLowerCase(),
    from: index,
    to: index + word.length,
  }))
}

/** The same for all forms of a word: `purg` for purge, purged and purging. */
export function stemOf(word: string): string {
  if (INVALIDATE.test(word)) return 'invalidat'
  return stemmer(word.replace(BRITISH_OR_AMERICAN, 'ize'))
}

/** What the index has of a word: the word, because a reader may have typed a part of it, and its stem. */
export function indexed(word: string): string[] {
  return [...new Set([word, stemOf(word)])]
}
