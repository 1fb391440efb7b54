/**
 * Recent answers of single shards (the semantic caches of venkateswaran 3.5.1). A part answers the same query again. If each of
 * its rows has its key, it also answers any narrower range of keys, with the rows that are in that range.
 */
import type { KeyRange, ShardAnswer, ShardPart } from '../plan/index.js'
import { ResultMap } from './result-map.js'

export interface KeptPart {
  readonly answer: ShardAnswer
  readonly range: KeyRange
}

export class PartCache {
  readonly #parts: ResultMap<KeptPart>

  constructor(sizeBytesMax: number) {
    this.#parts = new ResultMap(sizeBytesMax, ({ answer }) => answer.rows)
  }

  /** The answer as it was then. Its `applied` says which global writes are in it. */
  find(shard: string, part: ShardPart): ShardAnswer | undefined {
    const kept = this.#parts.get(keyOf(shard, part))
    if (kept === undefined || !isWithin(part.range, kept.range)) return undefined
    const { keySlot, range } = part
    if (keySlot === undefined || isWithin(kept.range, range)) return kept.answer
    const isWanted = (key: number) => key >= range.low && key <= range.high
    return {
      ...kept.answer,
      rows: kept.answer.rows.filter(row => row[keySlot] !== null && isWanted(Number(row[keySlot]))),
    }
  }

  keep(shard: string, part: ShardPart, answer: ShardAnswer): void {
    const key = keyOf(shard, part)
    const known = this.#parts.get(key)
    // A narrower part of the same state adds nothing.
    const isOld = known === undefined || known.answer.applied < answer.applied
    if (isOld || !isWithin(part.range, known.range)) this.#parts.set(key, { answer, range: part.range })
  }
}

/** If rows can be selected by their key, one entry serves all ranges. */
function keyOf(shard: string, { family, range, keySlot }: ShardPart): string {
  return JSON.stringify([shard, family, ...(keySlot === undefined ? [`${range.low}`, `${range.high}`] : [])])
}

function isWithin(inner: KeyRange, outer: KeyRange): boolean {
  return inner.low >= outer.low && inner.high <= outer.high
}
