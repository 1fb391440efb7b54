import { describe, expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { EventQueue } from '../simulator/event-queue.js'
import { type CacheBehaviour, TAME } from './mix.js'
import { WebCache } from './web-cache.js'
import { type Done, objectRequest, type Reply, type Upstream } from './wire.js'

const PATH = '/db/shop/b0/1'
const LIFETIME_MS = 60_000

/** An origin that answers on demand, each time with the next version; 0 for an absent object. */
class Origin implements Upstream {
  readonly pending: Done[] = []
  readonly writes: string[] = []
  readonly #queue: EventQueue

  constructor(queue: EventQueue) {
    this.#queue = queue
  }

  fetch(_request: unknown, done: Done): void {
    this.pending.push(done)
  }

  passWrite(path: string): void {
    this.writes.push(path)
  }

  answer(index: number, version: number, ageMs = 0): void {
    const reply: Reply = {
      lifetimeMs: LIFETIME_MS,
      isNoStore: version === 0,
      ageMs,
      dateMs: this.#queue.nowMs,
      content: { kind: 'object', version: version === 0 ? undefined : version, position: 9, changedAt: version },
      readMs: this.#queue.nowMs,
      servedBy: 'origin',
    }
    this.pending[index]!(reply)
  }
}

function setUp(behaviour: Partial<CacheBehaviour> = {}) {
  const queue = new EventQueue()
  const origin = new Origin(queue)
  // A generator that never draws a chance miss.
  const random = { ...createRandom(1), float: () => 0.5 }
  const cache = new WebCache({ name: 'cache', behaviour: { ...TAME, ...behaviour }, upstream: origin, queue, random })
  const got: (Reply | undefined)[] = []
  const read = (isReload = false) => cache.fetch(objectRequest(PATH, undefined, isReload), reply => got.push(reply))
  const wait = (ms: number) => queue.runUntil(queue.nowMs + ms)
  const versions = () => got.map(reply => (reply?.content.kind === 'object' ? reply.content.changedAt : undefined))
  return { origin, cache, got, read, wait, versions }
}

describe('a cache', () => {
  it('answers until the lifetime ends, and not after', () => {
    const { origin, read, wait, versions } = setUp()
    read()
    origin.answer(0, 1)
    wait(LIFETIME_MS - 1)
    read()
    wait(2)
    read()
    expect(versions()).toEqual([1, 1])
    expect(origin.pending).toHaveLength(2)
  })

  it('with grace answers past expiry, and fetches in the background', () => {
    const { origin, read, wait, versions } = setUp({ graceMs: 10_000 })
    read()
    origin.answer(0, 1)
    wait(LIFETIME_MS + 9000)
    read()
    wait(1)
    expect(versions()).toEqual([1, 1])
    expect(origin.pending).toHaveLength(2)
  })

  it('that goes backwards lets a slow, older fill overwrite a newer copy; any other does not', () => {
    for (const goesBackwards of [true, false]) {
      const { origin, read, wait, versions } = setUp({ goesBackwards })
      read()
      wait(1)
      read()
      origin.answer(1, 2)
      origin.answer(0, 1)
      read()
      wait(1)
      expect(versions()).toEqual([2, 1, goesBackwards ? 1 : 2])
    }
  })

  it('that collapses joins a later request to the one under way', () => {
    const { origin, read, versions } = setUp({ collapses: true })
    read()
    read(true)
    expect(origin.pending).toHaveLength(1)
    origin.answer(0, 1)
    expect(versions()).toEqual([1, 1])
  })

  it('that collapses does not share an answer that must not be stored', () => {
    const { origin, read, versions } = setUp({ collapses: true })
    read()
    read()
    origin.answer(0, 0)
    expect(origin.pending).toHaveLength(2)
    origin.answer(1, 0)
    expect(versions()).toEqual([0, 0])
  })

  it('keeps absent answers only if it ignores the headers', () => {
    for (const keepsAbsent of [true, false]) {
      const { origin, read, wait } = setUp({ keepsAbsent })
      read()
      origin.answer(0, 0)
      read()
      wait(1)
      expect(origin.pending).toHaveLength(keepsAbsent ? 1 : 2)
    }
  })

  it('passes a reload on unless it ignores reloads', () => {
    for (const ignoresReload of [true, false]) {
      const { origin, read } = setUp({ ignoresReload })
      read()
      origin.answer(0, 1)
      read(true)
      expect(origin.pending).toHaveLength(ignoresReload ? 1 : 2)
    }
  })

  it('either counts and sends the age that a copy had, or does neither', () => {
    for (const isHonest of [true, false]) {
      const { origin, read, wait, got } = setUp({ countsAge: isHonest, sendsAge: isHonest })
      read()
      origin.answer(0, 1, 50_000)
      wait(5500)
      read()
      wait(1)
      expect(got.at(-1)!.ageMs).toBe(isHonest ? 55_000 : 0)
      wait(10_000)
      read()
      expect(origin.pending).toHaveLength(isHonest ? 2 : 1)
    }
  })

  it('removes the position from the headers if it strips them, but never from a body', () => {
    const { origin, read, got } = setUp({ stripsPosition: true })
    read()
    origin.answer(0, 1)
    expect(got[0]!.content).toMatchObject({ version: 1, position: undefined })
    const absent = setUp({ stripsPosition: true })
    absent.read()
    absent.origin.answer(0, 0)
    expect(absent.got[0]!.content).toMatchObject({ version: undefined, position: 9 })
  })

  it('drops its copy when a write passes, if so configured, and passes the write on', () => {
    for (const dropsOnWrite of [true, false]) {
      const { origin, cache, read } = setUp({ dropsOnWrite })
      read()
      origin.answer(0, 1)
      cache.passWrite(PATH)
      read()
      expect(origin.pending).toHaveLength(dropsOnWrite ? 2 : 1)
      expect(origin.writes).toEqual([PATH])
    }
  })
})
