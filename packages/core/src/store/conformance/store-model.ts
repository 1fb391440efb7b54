/**
 * What a store should hold, in the plainest form: for each key, every value it ever had, with the position it had it from. So
 * the model can reconstruct any state.
 */

import type { Commit, Key, Position, ReadVersion, ScanRange, Version } from '../store.js'
import { compareCodePoints } from './code-point-order.js'

interface Change {
  readonly position: Position
  /** Undefined: deleted. */
  readonly body: number | undefined
}

export interface ModelEntry {
  readonly id: string
  readonly version: Version
  readonly body: number
}

export class StoreModel {
  readonly #changes = new Map<Key, Change[]>()
  readonly #log: { readonly position: Position; readonly keys: readonly Key[] }[] = []
  /** Where the store began. */
  readonly start: Position
  trimmedTo: Position

  constructor(start: Position) {
    this.start = start
    this.trimmedTo = start
  }

  get position(): Position {
    return this.#log.at(-1)?.position ?? this.start
  }

  /** Bodies are one byte here. */
  apply(position: Position, { writes }: Commit): void {
    for (const write of writes) {
      const history = this.#changes.get(write.key) ?? []
      history.push({ position, body: 'delete' in write ? undefined : write.body[0]! })
      this.#changes.set(write.key, history)
    }
    this.#log.push({ position, keys: writes.map(({ key }) => key) })
  }

  at(key: Key, position: Position): { readonly version: Version; readonly body: number } | undefined {
    const change = this.#changes.get(key)?.findLast(candidate => candidate.position <= position)
    return change?.body === undefined ? undefined : { version: change.position, body: change.body }
  }

  conflictsAt(reads: readonly ReadVersion[], position: Position): ReadVersion[] {
    const versionOf = (key: Key) => this.at(key, position)?.version ?? 0
    return reads
      .filter(read => versionOf(read.key) !== read.version)
      .map(({ key }) => ({ key, version: versionOf(key) }))
  }

  /** Everything in the range, in the order of code points. */
  scanAt(bucket: Key, { from, to, after, prefix }: ScanRange, position: Position): ModelEntry[] {
    const entries = [...this.#changes.keys()]
      .filter(key => key.startsWith(`${bucket}/`))
      .flatMap(key => {
        const found = this.at(key, position)
        return found ? [{ id: key.slice(bucket.length + 1), ...found }] : []
      })
    return entries
      .filter(({ id }) => from === undefined || compareCodePoints(id, from) >= 0)
      .filter(({ id }) => to === undefined || compareCodePoints(id, to) < 0)
      .filter(({ id }) => after === undefined || compareCodePoints(id, after) > 0)
      .filter(({ id }) => prefix === undefined || id.startsWith(prefix))
      .sort((a, b) => compareCodePoints(a.id, b.id))
  }

  bucketVersionAt(bucket: Key, position: Position): Version {
    const touches = ({ keys }: { keys: readonly Key[] }) => keys.some(key => key.startsWith(`${bucket}/`))
    return this.#log.findLast(entry => entry.position <= position && touches(entry))?.position ?? 0
  }

  changes(after: Position): readonly { readonly position: Position; readonly keys: readonly Key[] }[] {
    return this.#log.filter(({ position }) => position > after)
  }
}
