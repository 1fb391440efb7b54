/**
 * Keys that count up, each written by one writer at a time and read by many. So at each moment the least number that a read must
 * find is known, and every read that finds less than what was acknowledged is recorded as a violation.
 */
import { eventually } from '@freshet/engines/under-test/eventually'
import type { Cells } from '../index.js'
import type { ReadLevel } from '../records/index.js'

export interface Violation {
  readonly key: string
  readonly level: ReadLevel
  readonly found: number
  readonly atLeast: number
}

export class OneWriterKeys {
  readonly violations: Violation[] = []
  readonly counts = { acknowledged: 0, unknown: 0, refused: 0, reads: 0, current: 0 }
  readonly #acknowledged = new Map<string, number>()
  /** The highest number by key that was acknowledged, or returned as current. */
  readonly #current = new Map<string, number>()
  #last = 0

  acknowledgedOf(key: string): number {
    return this.#acknowledged.get(key) ?? 0
  }

  async write(cells: Cells, key: string): Promise<void> {
    const number = ++this.#last
    try {
      await cells.write(key, { contentType: 'text/plain', body: Buffer.from(`${number}`) }, 'QUORUM')
      this.counts.acknowledged++
      this.#acknowledged.set(key, number)
      this.#current.set(key, Math.max(number, this.#current.get(key) ?? 0))
    } catch (error) {
      const { code, details } = error as { code?: string; details?: { outcome?: string } }
      if (code !== 'RING_UNAVAILABLE') throw error
      this.counts[details?.outcome === 'unknown' ? 'unknown' : 'refused']++
    }
  }

  async read(cells: Cells, key: string, level: 'QUORUM' | 'CURRENT'): Promise<void> {
    const [acknowledged, current] = [this.acknowledgedOf(key), this.#current.get(key) ?? 0]
    try {
      const { value, isCurrent } = await cells.read(key, level)
      const found = value === undefined ? 0 : Number(Buffer.from(value.body).toString())
      this.counts.reads++
      if (level === 'CURRENT' && !isCurrent) return
      const atLeast = isCurrent ? current : acknowledged
      if (found < atLeast) this.violations.push({ key, level, found, atLeast })
      if (!isCurrent) return
      this.counts.current++
      this.#current.set(key, Math.max(found, this.#current.get(key) ?? 0))
    } catch (error) {
      if ((error as { code?: string }).code !== 'RING_UNAVAILABLE') throw error
    }
  }

  /** To be called at the end: each key has its last acknowledged number, or a later one whose outcome was unknown. */
  async check(cells: Cells, keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const before = this.counts.current
      await eventually(`${key} is current in the end`, async () => {
        await this.read(cells, key, 'CURRENT')
        return this.counts.current > before
      })
    }
  }
}
