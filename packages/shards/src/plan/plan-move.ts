/**
 * Splits a shard: its rows with keys from `at` on move to another shard, a stretch at a time, from the end. Each stretch is one
 * entry of the log of global writes, which every shard applies in its turn: one takes the rows, one gives them away, all note
 * where they are. So at any position of the log each row is on exactly one shard, and results of one position count it once.
 * Earlier global writes are in the rows when they move, and later ones find the rows where they are then.
 */
import { FreshetError } from '@freshet/protocol'
import type { Move } from './shard.js'
import type { PlacedShard } from './shard-map.js'

export interface SplitWish {
  /** The shard that is added. */
  readonly name: string
  /** The first key that the added shard gets. */
  readonly at: number
}

export interface Stretch {
  /** The shard that has the rows. */
  readonly source: string
  readonly low: number
  readonly high: number | null
}

/** All that is left to move; undefined if nothing is. Throws CONFIG_INVALID. */
export function stretchLeft(placed: readonly PlacedShard[], { name, at }: SplitWish): Stretch | undefined {
  const place = placed.findIndex(shard => shard.name === name)
  if (place === 0) throw impossible(`${name} is the first shard, and has all keys below`)
  const sourcePlace = place === -1 ? placed.findLastIndex(({ from }) => from < at) : place - 1
  const source = placed[sourcePlace]
  const end = placed[sourcePlace + 1]?.from
  if (source === undefined || at <= source.from)
    throw impossible(
      `${at} is not a key within a shard: it must be larger than the first key of the shard that is split`,
    )
  if (place === -1) {
    if (end === at) throw impossible(`${placed[sourcePlace + 1]!.name} already begins at ${at}`)
    return { source: source.name, low: at, high: end ?? null }
  }
  return end! <= at ? undefined : { source: source.name, low: at, high: end! }
}

/** The move of the end of a stretch, from `low` on. */
export function moveOf(
  placed: readonly PlacedShard[],
  { name }: SplitWish,
  { source, high }: Stretch,
  low: number,
): Move {
  const others = placed.filter(shard => shard.name !== name)
  const after = others.findIndex(shard => shard.name === source) + 1
  return {
    ...{ from: source, to: name, low, high },
    placed: [...others.slice(0, after), { name, from: low }, ...others.slice(after)],
  }
}

function impossible(reason: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', `The shards cannot be split like this: ${reason}.`)
}
