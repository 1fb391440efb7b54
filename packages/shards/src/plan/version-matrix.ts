/**
 * Whether the answers of several shards belong together (venkateswaran 3.5.2, 3.5.3 and algorithm 1).
 *
 * An aspect is a table; its version on a shard is the position in the arbitrator's log of the last global write to it that the
 * shard has applied. (The paper counts +1. A position in the log says the same, and more: two shards with the same version have
 * applied the same writes, also after a shard was restored from a copy.) Rows and versions come from one snapshot, so a result is
 * consistent if and only if the shards agree on every aspect that the query depends on.
 *
 * Every shard applies the log in order. So one of the shards asked is ahead of or level with all others in every aspect. The
 * paper also has the case that none is, in which all are asked again; it can occur only if a shard was restored, and it is
 * handled.
 */

/** The aspect of all schemas together: every query depends on it, because the meaning of its names does. */
export const SCHEMA_ASPECT = '*schema'

/** For each aspect that was ever written, the position in the log. */
export type Versions = Readonly<Record<string, number>>

export interface ShardVersions {
  readonly versions: Versions
  /** The shard has applied the log up to this position. */
  readonly applied: number
  /** The schema is being changed at this moment, by an engine that cannot do so within a transaction. */
  readonly isChanging: boolean
}

export interface MatrixOptions {
  /** The tables that the query depends on. */
  readonly tables: readonly string[]
  /** The position that the reader has seen already: no shard may be behind it. */
  readonly floor: number
}

export type Verdict =
  | { readonly kind: 'consistent'; readonly versions: Versions }
  /** The places of the shards that must be asked again, once they have applied the log up to `position`. */
  | { readonly kind: 'behind'; readonly shards: readonly number[]; readonly position: number }

export function judgeMatrix(matrix: readonly ShardVersions[], { tables, floor }: MatrixOptions): Verdict {
  const aspects = [...tables, SCHEMA_ASPECT]
  const highest: Versions = Object.fromEntries(
    aspects.map(aspect => [aspect, Math.max(...matrix.map(({ versions }) => versionIn(versions, aspect)))]),
  )
  const isLevel = ({ versions }: ShardVersions) =>
    aspects.every(aspect => versionIn(versions, aspect) === highest[aspect])
  const isHeldUp = ({ applied, isChanging }: ShardVersions) => isChanging || applied < floor
  const places = matrix.map((_, i) => i)
  const late = places.filter(i => !isLevel(matrix[i]!) || isHeldUp(matrix[i]!))
  if (late.length === 0) return { kind: 'consistent', versions: highest }
  const position = Math.max(floor, ...Object.values(highest))
  return { kind: 'behind', shards: matrix.some(isLevel) ? late : places, position }
}

/** 0 if it was never written. A table may be called `constructor`. */
export function versionIn(versions: Versions, aspect: string): number {
  return Object.hasOwn(versions, aspect) ? versions[aspect]! : 0
}
