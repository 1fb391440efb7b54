/**
 * The cache in memory, behind a shared cache that ignores request headers, serves past expiry and goes back to older
 * copies, against a model that knows every write: no schedule makes a read older than its mode promises, or go back.
 */

import type { ReadMode } from '@freshet/core/coherence'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connect } from '../connect.js'
import type { Database } from '../database.js'
import { FakeOrigin, type Sent } from '../testing/fake-origin.js'

const STALENESS_MS = 1000
/** The origin's window is 100 s; a copy lives for 60 s, and the cache adds up to 30 s. */
const GRACE_MS = 30_000

interface Kept {
  readonly text: string
  readonly headers: Headers
  readonly storedAtMs: number
  readonly keptUntilMs: number
}

/** A shared cache by whole URL; it remembers earlier copies, so that it can fall back to them. */
class SharedCache {
  readonly #copies = new Map<string, Kept[]>()
  readonly #origin: FakeOrigin

  constructor(origin: FakeOrigin) {
    this.#origin = origin
    origin.script = sent => this.#answer(sent)
    origin.onWayBack = (sent, response) => this.#keep(sent, response)
  }

  /** Every URL goes back to its previous copy, if that has not expired. */
  goBack(): void {
    for (const copies of this.#copies.values()) {
      const before = copies.at(-2)
      if (before && before.keptUntilMs > this.#origin.nowMs) copies.push(before)
    }
  }

  drop(): void {
    this.#copies.clear()
  }

  #answer({ method, target }: Sent): Response | undefined {
    const copy = this.#copies.get(target)?.at(-1)
    if (method !== 'GET' || copy === undefined || copy.keptUntilMs <= this.#origin.nowMs) return undefined
    const headers = new Headers(copy.headers)
    headers.set('age', `${Math.floor((this.#origin.nowMs - copy.storedAtMs) / 1000)}`)
    headers.set('x-kept', 'yes')
    return new Response(copy.text, { headers })
  }

  async #keep({ method, target }: Sent, response: Response): Promise<undefined> {
    if (method !== 'GET' || !target.startsWith('/db/') || !response.ok || response.headers.has('x-kept')) return
    const storedAtMs = this.#origin.nowMs
    const keptUntilMs = storedAtMs + this.#origin.lifetimeS * 1000 + GRACE_MS
    const { headers } = response
    const copy = { text: await response.clone().text(), headers, storedAtMs, keptUntilMs }
    this.#copies.set(target, [...(this.#copies.get(target) ?? []), copy])
  }
}

const ids = ['a', 'b', 'c'] as const
const id = fc.constantFrom(...ids)
const mode = fc.constantFrom<ReadMode>('session', 'current', { withinMs: 300 }, { withinMs: 20_000 })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('read' as const), id, mode }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('list' as const), mode }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('many' as const), mode }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('write' as const), id, own: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), id, own: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.constantFrom(50, 400, 1001, 9000, 40_000, 130_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('goBack' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

class Run {
  readonly #writes: { id: string; position: number; version: number; atMs: number; isOwn: boolean }[] = []
  readonly #seen = new Map<string, number>()

  constructor(
    readonly origin: FakeOrigin,
    readonly cache: SharedCache,
    readonly db: Database,
  ) {}

  async take(step: Step): Promise<void> {
    const items = this.db.bucket('shop/items')
    if (step.kind === 'wait') this.origin.nowMs += step.ms
    else if (step.kind === 'goBack') this.cache.goBack()
    else if (step.kind === 'drop') this.cache.drop()
    else if (step.kind === 'write' || step.kind === 'remove') await this.#write(step)
    else if (step.kind === 'read') {
      const due = this.#due(step.mode)
      this.#check(step.id, due(step.id), (await items.get(step.id, { read: step.mode }))?.version as number | undefined)
    } else if (step.kind === 'many') {
      const due = this.#due(step.mode)
      const found = await items.getMany(ids, { read: step.mode })
      ids.forEach((each, i) => {
        this.#check(each, due(each), found[i]?.version as number | undefined)
      })
    } else {
      const due = this.#due(step.mode)
      const found = new Map((await items.page({ read: step.mode })).items.map(item => [item.id, item.version]))
      for (const each of ids) this.#check(each, due(each), found.get(each))
    }
  }

  async #write({ kind, id, own }: { kind: 'write' | 'remove'; id: string; own: boolean }): Promise<void> {
    const items = this.db.bucket('shop/items')
    const key = `shop/items/${id}`
    const before = this.origin.position
    if (!own) kind === 'write' ? this.origin.put(key, { before }) : this.origin.remove(key)
    else if (kind === 'write') await items.put(id, { before })
    else await items.delete(id)
    const { position } = this.origin
    if (position === before) return
    const version = kind === 'write' ? position : 0
    this.#writes.push({ id, position, version, atMs: this.origin.nowMs, isOwn: own })
  }

  /** For each id: the position of the last write that a read beginning now must reflect. */
  #due(mode: ReadMode): (id: string) => number {
    const ageMs = mode === 'current' ? 0 : typeof mode === 'object' ? mode.withinMs : STALENESS_MS
    const beganAtMs = this.origin.nowMs
    return id =>
      this.#writes
        .filter(write => write.id === id && (write.isOwn || write.atMs <= beganAtMs - ageMs))
        .reduce((latest, { position }) => Math.max(latest, position), this.#seen.get(id) ?? 0)
  }

  /** The version read must be the result of a write at or after `due`. */
  #check(id: string, due: number, version = 0): void {
    const states = this.#writes.filter(write => write.id === id)
    const allowed = states.filter(({ position }) => position >= due)
    const isInitial = due === 0 && version === 0
    const found = allowed.find(state => state.version === version)
    if (!isInitial && !found) {
      expect.fail(`${id} was read as version ${version}, but position ${due} was due: ${JSON.stringify(states)}`)
    }
    this.#seen.set(id, Math.max(this.#seen.get(id) ?? 0, version))
  }
}

test('no schedule makes a read older than its mode promises, or go back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async steps => {
      const origin = new FakeOrigin()
      const cache = new SharedCache(origin)
      const { url, fetch, clock } = origin
      const db = await connect(url, { fetch, clock, staleness: STALENESS_MS, memoryBytesMax: 3000, random: () => 0 })
      const run = new Run(origin, cache, db)
      for (const each of steps) await run.take(each)
      db.close()
    }),
    { numRuns: 400 },
  )
})
