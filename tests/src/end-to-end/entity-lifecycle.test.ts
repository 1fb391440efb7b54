/**
 * Random programs run on a real manager over a real server, and on the naive model beside it. A program is a list of steps. In
 * each, fields are changed, another client may write, and then several operations are called without awaiting any. They must have
 * the outcomes, and call the hooks, that the model has for them one after the other.
 */
import { connect, type Database, FreshetError } from '@freshet/client'
import {
  createEntityManager,
  type EntityManager,
  entity,
  type FieldsClass,
  idOf,
  versionOf,
} from '@freshet/client/entities'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EntityModel, type ModelEntity, type Outcome } from './entity-model.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

interface Thing {
  n: number
}

let server: MemoryServer
let db: Database
let other: Database

beforeAll(async () => {
  server = await startMemoryServer()
  db = await connect(server.url, { read: 'current' })
  other = await connect(server.url, { read: 'current' })
})

afterAll(async () => {
  db.close()
  other.close()
  await server.stop()
})

const OPERATIONS = [
  'persist',
  'find',
  'remove',
  'merge',
  'detach',
  'refresh',
  'lock',
  'contains',
  'flush',
  'clear',
] as const
const id = fc.constantFrom('a', 'b')
const which = fc.nat(20)
const operation = fc.record({
  // More operations that add to the context, so that it is not empty.
  kind: fc.oneof(fc.constantFrom(...OPERATIONS), fc.constantFrom('persist', 'find', 'flush', 'remove')),
  which,
  id,
})
const step = fc.record({
  creates: fc.boolean(),
  changes: fc.array(fc.record({ which, n: fc.nat(3) }), { maxLength: 2 }),
  elsewhere: fc.option(fc.record({ id, n: fc.option(fc.nat(3), { nil: undefined }) }), { nil: undefined, freq: 4 }),
  operations: fc.array(operation, { minLength: 1, maxLength: 5 }),
})
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

let runs = 0
const outcomes = new Map<string, number>()

test('every program has the outcomes, states, hooks and stored objects of the naive model', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
      const twin = new Twin(`model/run-${runs++}`)
      for (const each of steps) await twin.step(each)
      await twin.compareStored()
    }),
    // Fewer on a busy machine. A failure is printed with its seed, even if shrinking did not finish.
    { numRuns: 400, interruptAfterTimeLimit: 80_000 },
  )
  // If every program failed, or none did, the test would show nothing.
  for (const seen of [
    'persist ok',
    'persist TypeError',
    'merge ok',
    'merge VERSION_CONFLICT',
    'flush COMMIT_CONFLICT',
  ]) {
    expect(outcomes.get(seen), seen).toBeGreaterThan(0)
  }
})

/** The real manager and the model, and which of their objects correspond. */
class Twin {
  readonly #bucket: string
  readonly #type: FieldsClass<Thing>
  readonly #em: EntityManager = createEntityManager(db)
  readonly #model = new EntityModel()
  readonly #real: Thing[] = []
  readonly #hooks: [string, Thing][] = []

  constructor(bucket: string) {
    this.#bucket = bucket
    const note = (name: string) => (thing: Thing) => void this.#hooks.push([name, thing])
    this.#type = entity<Thing>(bucket, {
      beforePersist: note('beforePersist'),
      beforeUpdate: note('beforeUpdate'),
      beforeRemove: note('beforeRemove'),
      afterLoad: note('afterLoad'),
    })
    this.#create()
  }

  async step({ creates, changes, elsewhere, operations }: Step): Promise<void> {
    if (creates) this.#create()
    for (const change of changes) {
      const at = change.which % this.#real.length
      this.#real[at]!.n = change.n
      this.#model.entities[at]!.n = change.n
    }
    if (elsewhere) await this.#writeElsewhere(elsewhere.id, elsewhere.n)
    // The number of objects is known before any operation is awaited.
    const count = this.#real.length
    const under = operations.map(each => this.#call(each, each.which % count).then(keep, keep))
    for (const [i, each] of operations.entries()) {
      const expected = this.#expect(each, each.which % count)
      this.#compare(each, expected, await under[i])
    }
    this.#compareHooks()
    await this.#compareStates()
  }

  async compareStored(): Promise<void> {
    const stored: [string, number][] = []
    for await (const { id: itsId, n } of other.bucket<Thing>(this.#bucket).list()) stored.push([itsId, n])
    const expected = [...this.#model.stored].map(([itsId, { n }]) => [this.#realId(itsId), n])
    expect(stored.sort()).toEqual(expected.sort())
  }

  #create(): void {
    this.#model.create(0)
    this.#real.push(new this.#type({ n: 0 }))
  }

  async #writeElsewhere(itsId: string, n: number | undefined): Promise<void> {
    this.#model.writeElsewhere(itsId, n)
    const bucket = other.bucket<Thing>(this.#bucket)
    await (n === undefined ? bucket.delete(itsId).catch(orNoBucket) : bucket.put(itsId, { n }))
  }

  async #call({ kind, id: itsId }: Operation, at: number): Promise<unknown> {
    const thing = this.#real[at]!
    if (kind === 'persist') return this.#em.persist(thing, { id: itsId })
    if (kind === 'find') return this.#em.find(this.#type, itsId)
    if (kind === 'flush') return this.#em.flush()
    if (kind === 'clear') return this.#em.clear()
    return this.#em[kind](thing)
  }

  #expect({ kind, id: itsId }: Operation, at: number): Outcome {
    const thing = this.#model.entities[at]!
    if (kind === 'persist') return this.#model.persist(thing, itsId)
    if (kind === 'find') return this.#model.find(itsId)
    if (kind === 'flush') return this.#model.flush()
    if (kind === 'clear') return this.#model.clear()
    return this.#model[kind](thing)
  }

  #compare({ kind }: Operation, expected: Outcome, actual: unknown): void {
    const failed = actual instanceof Error ? (actual instanceof FreshetError ? actual.code : actual.name) : undefined
    const seen = `${kind} ${failed ?? 'ok'}`
    outcomes.set(seen, (outcomes.get(seen) ?? 0) + 1)
    if (typeof expected === 'object' && 'error' in expected) {
      expect(failed, `${kind}: ${String(actual)}`).toBe(expected.error)
      if (expected.names === undefined) return
      const named = (actual as FreshetError).details.entities as Thing[]
      expect(new Set(named)).toEqual(new Set(expected.names.map(each => this.#realOf(each))))
      return
    }
    expect(failed, `${kind}: ${String(actual)}`).toBeUndefined()
    if (kind === 'contains') expect(actual).toBe(expected)
    if (typeof expected === 'object') this.#compareFound(expected.entity, actual as Thing | undefined)
  }

  #compareFound(expected: ModelEntity | undefined, actual: Thing | undefined): void {
    if (expected && actual && this.#model.entities.indexOf(expected) === this.#real.length) this.#real.push(actual)
    if (expected) expect(actual).toBe(this.#realOf(expected))
    else expect(actual).toBeUndefined()
  }

  #compareHooks(): void {
    const expected = this.#model.hooks.map(([name, each]) => [name, this.#model.entities.indexOf(each)])
    expect(this.#hooks.map(([name, thing]) => [name, this.#real.indexOf(thing)])).toEqual(expected)
  }

  async #compareStates(): Promise<void> {
    for (const [i, { state, n, base, id: itsId }] of this.#model.entities.entries()) {
      const thing = this.#real[i]!
      expect(thing).toEqual({ n })
      expect(await this.#em.contains(thing)).toBe(state === 'managed')
      if (state === 'new') expect(() => idOf(thing)).toThrow(TypeError)
      else {
        expect(versionOf(thing) === 0).toBe(base.version === 0)
        if (!itsId!.startsWith('made-')) expect(idOf(thing)).toBe(itsId)
      }
    }
  }

  #realOf(each: ModelEntity): Thing | undefined {
    return this.#real[this.#model.entities.indexOf(each)]
  }

  #realId(itsId: string): string {
    if (!itsId.startsWith('made-')) return itsId
    return idOf(this.#realOf(this.#model.entities.find(each => each.id === itsId)!)!)
  }
}

function keep(outcome: unknown): unknown {
  return outcome
}

function orNoBucket(error: unknown): void {
  if (!(error instanceof FreshetError) || error.code !== 'BUCKET_NOT_FOUND') throw error
}
