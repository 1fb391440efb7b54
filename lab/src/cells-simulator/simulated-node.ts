/** A simulated node of cells: an engine that keeps records and replaces them if they are unchanged. Its data survives crashes. */

import type { NodePage, NodeRange, NodeValue, NodeWrite } from '@freshet/cells'
import type { CellValue } from '@freshet/cells/records'
import { isWithin } from '@freshet/core/store'
import { bucketOfKey, compareUtf8, idOfKey, type Key } from '@freshet/protocol'

export class SimulatedEngine {
  readonly #values = new Map<Key, NodeValue>()
  readonly #onDrop: (key: Key, body: Uint8Array) => void
  #version = 0

  constructor(onDrop: (key: Key, body: Uint8Array) => void) {
    this.#onDrop = onDrop
  }

  read(keys: readonly Key[]): readonly (NodeValue | undefined)[] {
    return keys.map(key => this.#values.get(key))
  }

  write({ key, body }: NodeWrite, holds: readonly { key: Key; version: number }[]): number | undefined {
    if (holds.some(each => (this.#values.get(each.key)?.version ?? 0) !== each.version)) return undefined
    const version = ++this.#version
    const before = this.#values.get(key)
    if (body === undefined && before !== undefined) this.#onDrop(key, before.body)
    if (body === undefined) this.#values.delete(key)
    else this.#values.set(key, { version, body })
    return version
  }

  /** Like a node that was never asked to vote: only the cells are left. */
  forgetVotes(): void {
    for (const [key, value] of this.#values) {
      const record = JSON.parse(Buffer.from(value.body).toString()) as Record<string, unknown>
      if (!('stamp' in record)) continue
      const { tenure: _, holder: __, beat: ___, ...cell } = record
      this.#values.set(key, { version: ++this.#version, body: Buffer.from(JSON.stringify(cell)) })
    }
  }

  scan(bucket: Key, range: NodeRange): NodePage {
    const found = [...this.#values]
      .filter(([key]) => bucketOfKey(key) === bucket && isWithin(idOfKey(key) ?? '', range))
      .map(([key, value]) => ({ id: idOfKey(key)!, ...value }))
      .sort((a, b) => compareUtf8(a.id, b.id))
    const entries = found.slice(0, range.limit)
    return found.length > entries.length ? { entries, next: entries.at(-1)!.id } : { entries }
  }

  buckets(): readonly Key[] {
    return [...new Set([...this.#values.keys()].map(bucketOfKey))]
  }
}

export function textOf(value: CellValue | undefined): string | undefined {
  return value && Buffer.from(value.body).toString()
}
