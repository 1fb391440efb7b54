/**
 * Random commits, many at the same time, with reads, scans and trims between and beside them, all compared with a model.
 *
 * Concurrent operations have no order until they are over: then their positions show it. A commit must have met its reads
 * at its position; a conflict must be true of some state between the positions around it; a read names its state.
 */
import type { Commit, CommitResult, Key, Position, ReadVersion, ScanRange, Store } from '../store.js'
import { type ConformanceOptions, codeOf, put, remove, type StoreUnderTest, type TestKit, testWith } from './kit.js'
import { createRandom, type Random } from './random.js'
import { StoreModel } from './store-model.js'

const STEPS_DEFAULT = 4000
const BUCKETS = ['a/b', 'a/b-', 'c/d']
const IDS = ['1', '10', '2', 'a', 'ä', '\uffee', '😀', '😀1']
const BOUNDS = [...IDS, '', '0', 'z', '🀀']

export function testRandomWalk(options: ConformanceOptions): void {
  const { seed = 1, steps = STEPS_DEFAULT } = options
  testWith(options, `a store agrees with its model, ${steps} steps from seed ${seed}`, async under => {
    const model = new StoreModel(await under.store.position())
    const walk = new RandomWalk(options, under, model, createRandom(seed))
    for (let done = 0; done < steps; ) done += await walk.step()
    await walk.end()
  })
}

class RandomWalk {
  readonly #expect: TestKit['expect']
  readonly #nextTurn: TestKit['nextTurn']
  readonly #ways: readonly Store[]
  readonly #random: Random
  readonly #model: StoreModel
  /** The model's position when the present step began. */
  #before: Position

  constructor({ kit }: ConformanceOptions, { store, peer }: StoreUnderTest, model: StoreModel, random: Random) {
    this.#expect = kit.expect
    this.#nextTurn = kit.nextTurn
    this.#ways = peer ? [store, peer] : [store]
    this.#model = model
    this.#before = model.position
    this.#random = random
  }

  /** Returns how many actions it took. */
  async step(): Promise<number> {
    const random = this.#random
    this.#before = this.#model.position
    const commits = Array.from({ length: random.below(12) }, () => this.#drawCommit())
    const committing = Promise.all(commits.map(commit => this.#way().commit(commit)))
    const readers = Array.from({ length: random.below(4) }, () => this.#startReading())
    this.#learn(commits, await committing)
    for (const check of await Promise.all(readers)) check()
    if (random.chance(0.1)) await this.#trim()
    if (random.chance(0.3)) await this.#checkLog()
    if (random.chance(0.3)) await this.#checkKeys()
    return commits.length + readers.length + 1
  }

  async end(): Promise<void> {
    await this.#checkKeys()
    await this.#checkLog()
    for (const bucket of BUCKETS) (await this.#startScan(bucket))()
  }

  #way(): Store {
    return this.#random.pick(this.#ways)
  }

  #drawKey(): Key {
    return `${this.#random.pick(BUCKETS)}/${this.#random.pick(IDS)}`
  }

  #drawCommit(): Commit {
    const random = this.#random
    const keys = [...new Set(Array.from({ length: 1 + random.below(4) }, () => this.#drawKey()))]
    const writes = keys.map(key => (random.chance(0.3) ? remove(key) : put(key, random.below(256))))
    const readKeys = [...keys.slice(0, random.below(3)), this.#drawKey()]
    return random.chance(0.5) ? { writes } : { reads: readKeys.map(key => this.#drawRead(key)), writes }
  }

  /** Mostly the current version; it may no longer hold when the commit gets its turn. */
  #drawRead(key: Key): ReadVersion {
    const version = this.#model.at(key, this.#before)?.version ?? 0
    return { key, version: this.#random.chance(0.85) ? version : this.#drawPosition() }
  }

  /** Adds the commits to the model, in order, and checks every answer. */
  #learn(commits: readonly Commit[], results: readonly CommitResult[]): void {
    const model = this.#model
    const answered = commits.map((commit, i) => ({ commit, result: results[i]! }))
    const positions = [this.#before]
    const committed = answered.flatMap(({ commit, result }) =>
      result.committed ? [{ commit, position: result.position }] : [],
    )
    for (const { commit, position } of committed.sort((a, b) => a.position - b.position)) {
      this.#expect(position).toBeGreaterThan(positions.at(-1)!)
      this.#expect(model.conflictsAt(commit.reads ?? [], positions.at(-1)!)).toEqual([])
      model.apply(position, commit)
      positions.push(position)
    }
    for (const { commit, result } of answered) {
      if (result.committed) continue
      const possible = positions.map(position => JSON.stringify(model.conflictsAt(commit.reads ?? [], position)))
      this.#expect(result.conflicts.length).toBeGreaterThan(0)
      this.#expect(possible.includes(JSON.stringify(result.conflicts))).toBe(true)
    }
  }

  /** Starts beside the commits. The returned function checks the answer once the model knows the commits. */
  async #startReading(): Promise<() => void> {
    const kind = this.#random.below(3)
    for (let turns = this.#random.below(8); turns > 0; turns--) await this.#nextTurn()
    if (kind === 0) return this.#startScan(this.#random.pick(BUCKETS))
    return kind === 1 ? this.#startGetMany() : this.#startGet()
  }

  async #startGet(): Promise<() => void> {
    const key = this.#drawKey()
    const from = this.#before
    const value = await this.#way().get(key)
    return () => {
      const states = [from, ...this.#model.changes(from).map(({ position }) => position)]
      const possible = states.map(position => JSON.stringify(this.#model.at(key, position) ?? null))
      const found = value ? { version: value.version, body: value.body[0] } : null
      this.#expect(possible.includes(JSON.stringify(found)), `${key}: ${JSON.stringify(found)}`).toBe(true)
    }
  }

  async #startGetMany(): Promise<() => void> {
    const keys = Array.from({ length: this.#random.below(6) }, () => this.#drawKey())
    const from = this.#before
    const { value, position } = await this.#way().getMany(keys)
    return () => {
      this.#expect(position).toBeGreaterThanOrEqual(from)
      const found = value.map(one => one && { version: one.version, body: one.body[0] })
      this.#expect(found).toEqual(keys.map(key => this.#model.at(key, position)))
    }
  }

  async #startScan(bucket: Key): Promise<() => void> {
    const limit = 1 + this.#random.below(10)
    const range = this.#drawRange()
    const from = this.#before
    const wantsEven = this.#random.chance(0.3)
    const filter = wantsEven ? { filter: ({ body }: { body: Uint8Array }) => body[0]! % 2 === 0 } : {}
    const page = await this.#way().scan(bucket, { ...range, limit, ...filter })
    return () => {
      this.#expect(page.position).toBeGreaterThanOrEqual(from)
      const all = this.#model.scanAt(bucket, range, page.position)
      const entries = all.filter(({ body }) => !wantsEven || body % 2 === 0).slice(0, limit)
      const found = page.entries.map(({ id, version, body }) => ({ id, version, body: body[0] }))
      this.#expect(found, JSON.stringify(range)).toEqual(entries)
      const isMore = entries.length === limit && all.at(-1)?.id !== entries.at(-1)?.id
      this.#expect(page.next).toBe(isMore ? entries.at(-1)?.id : undefined)
      this.#expect(page.version).toBe(this.#model.bucketVersionAt(bucket, page.position))
    }
  }

  #drawRange(): ScanRange {
    const random = this.#random
    const range: { from?: string; to?: string; after?: string; prefix?: string } = {}
    if (random.chance(0.2)) range.from = random.pick(BOUNDS)
    if (random.chance(0.2)) range.to = random.pick(BOUNDS)
    if (random.chance(0.2)) range.after = random.pick(BOUNDS)
    if (random.chance(0.2)) range.prefix = random.pick(BOUNDS)
    return range
  }

  /** Any position since the store began, or one that does not exist yet. */
  #drawPosition(): Position {
    const { start, position } = this.#model
    return start + this.#random.below(position - start + 2)
  }

  async #trim(): Promise<void> {
    const upTo = this.#drawPosition()
    await this.#way().trim(upTo)
    this.#model.trimmedTo = Math.max(this.#model.trimmedTo, Math.min(upTo, this.#model.position))
    this.#expect(await this.#way().trimmedTo()).toBe(this.#model.trimmedTo)
  }

  async #checkLog(): Promise<void> {
    const store = this.#way()
    const { start, position, trimmedTo } = this.#model
    this.#expect(await store.position()).toBeGreaterThanOrEqual(position)
    if (trimmedTo > start) {
      const gone = start + this.#random.below(trimmedTo - start)
      this.#expect(await codeOf(() => store.changes(gone))).toBe('LOG_TRIMMED')
    }
    const after = trimmedTo + this.#random.below(position - trimmedTo + 1)
    const limit = 1 + this.#random.below(30)
    const entries = (await store.changes(after, limit)).map(entry => ({ position: entry.position, keys: entry.keys }))
    this.#expect(entries).toEqual(this.#model.changes(after).slice(0, limit))
  }

  async #checkKeys(): Promise<void> {
    const store = this.#way()
    for (const bucket of BUCKETS) {
      for (const id of IDS) {
        const key = `${bucket}/${id}`
        const found = await store.get(key)
        const expected = this.#model.at(key, this.#model.position)
        this.#expect(found && { version: found.version, body: found.body[0] }).toEqual(expected)
      }
    }
  }
}
