/** The part of a section's text that shows why it was found. */
import { type PlacedWord, placedWords, stemOf } from './words.js'

export interface Piece {
  readonly text: string
  readonly isHit: boolean
}

const LENGTH_MAX = 180
/** How much of it is before the first hit. */
const LENGTH_BEFORE = 40

/** `terms` are words and stems, as the search reports them. If the text has none of them, its beginning is returned. */
export function excerptOf(text: string, terms: readonly string[]): readonly Piece[] {
  const wanted = new Set(terms)
  const words = placedWords(text)
  const hits = words.filter(({ word }) => wanted.has(word) || wanted.has(stemOf(word)))
  const from = beginningOf(words, densest(hits)?.from ?? 0)
  const to = words.findLast(word => word.to <= from + LENGTH_MAX)?.to ?? text.length
  return marked(text, from, endOfSentence(text, to), hits)
}

/** The hit that is followed by the largest number of different words that were looked for, within the length of an excerpt. */
function densest(hits: readonly PlacedWord[]): PlacedWord | undefined {
  let best: PlacedWord | undefined
  let most = 0
  for (const [i, hit] of hits.entries()) {
    const close = hits.slice(i).filter(({ to }) => to <= hit.from + LENGTH_MAX - LENGTH_BEFORE)
    const count = new Set(close.map(({ word }) => stemOf(word))).size
    if (count > most) [best, most] = [hit, count]
  }
  return best
}

function beginningOf(words: readonly PlacedWord[], hitFrom: number): number {
  const from = hitFrom - LENGTH_BEFORE
  return from <= 0 ? 0 : words.find(word => word.from >= from)!.from
}

function endOfSentence(text: string, to: number): number {
  return /[.!?)]/.test(text.charAt(to)) ? to + 1 : to
}

function marked(text: string, from: number, to: number, hits: readonly PlacedWord[]): readonly Piece[] {
  const pieces: Piece[] = [{ text: from > 0 ? '… ' : '', isHit: false }]
  let at = from
  for (const hit of hits.filter(each => each.from >= from && each.to <= to)) {
    pieces.push({ text: text.slice(at, hit.from), isHit: false }, { text: text.slice(hit.from, hit.to), isHit: true })
    at = hit.to
  }
  pieces.push({ text: text.slice(at, to) + (to < text.length ? ' …' : ''), isHit: false })
  return pieces.filter(piece => piece.text !== '')
}
