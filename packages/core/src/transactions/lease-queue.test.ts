import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LeaseQueue, type Step, type Ticket } from './lease-queue.js'

const LIMITS = { leasesMax: 100, waitingMax: 100, waitMsMax: 1000 }

function queueOf(limits: Partial<typeof LIMITS> = {}): LeaseQueue {
  return new LeaseQueue({ ...LIMITS, ...limits })
}

function asks(id: string, order: number, ...keys: string[]): Ticket {
  return { id, order, keys, leaseMs: 100 }
}

function passes(id: string, order: number, ...keys: string[]): Ticket {
  return { id, order, keys, leaseMs: undefined }
}

function join(queue: LeaseQueue, ticket: Ticket, nowMs: number): Step[] {
  expect(queue.join(ticket, nowMs)).toBe(true)
  return queue.advance(nowMs)
}

describe('leases', () => {
  test('are granted one at a time, in the order of the requests', () => {
    const queue = queueOf()
    expect(join(queue, asks('one', 1, 'a'), 0)).toEqual([{ id: 'one', outcome: 'leased' }])
    expect(join(queue, asks('two', 2, 'a', 'b'), 0)).toEqual([])
    expect(join(queue, asks('three', 3, 'b'), 0)).toEqual([])
    expect(join(queue, asks('other', 4, 'c'), 0)).toEqual([{ id: 'other', outcome: 'leased' }])
    queue.end('one')
    expect(queue.advance(10)).toEqual([{ id: 'two', outcome: 'leased' }])
    queue.end('two')
    expect(queue.advance(20)).toEqual([{ id: 'three', outcome: 'leased' }])
  })

  test('hold back writers without a lease until they end', () => {
    const queue = queueOf()
    join(queue, asks('one', 1, 'a'), 0)
    expect(join(queue, passes('two', 2, 'a'), 0)).toEqual([])
    expect(join(queue, passes('free', 3, 'b'), 0)).toEqual([{ id: 'free', outcome: 'through' }])
    expect(queue.wakeAtMs).toBe(100)
    expect(queue.advance(99)).toEqual([])
    expect(queue.advance(100)).toEqual([{ id: 'two', outcome: 'through' }])
    expect(queue.isIdle).toBe(true)
  })

  test('do not end while a holder that came back in time commits, and are lost by one that was late', () => {
    const queue = queueOf()
    join(queue, asks('one', 1, 'a'), 0)
    expect(queue.use('one', 99)).toMatchObject({ id: 'one' })
    expect(join(queue, asks('two', 2, 'a'), 99)).toEqual([])
    expect(queue.advance(500)).toEqual([])
    queue.end('one')
    expect(queue.advance(500)).toEqual([{ id: 'two', outcome: 'leased' }])
    expect(queue.use('two', 600)).toBeUndefined()
    expect(queue.use('never', 600)).toBeUndefined()
  })

  test('go first to a holder that asks for more', () => {
    const queue = queueOf()
    join(queue, asks('one', 1, 'a'), 0)
    join(queue, asks('two', 2, 'a', 'b'), 0)
    queue.use('one', 50)
    expect(join(queue, asks('more', 1, 'a', 'b'), 50)).toEqual([])
    queue.end('one')
    expect(queue.advance(50)).toEqual([{ id: 'more', outcome: 'leased' }])
  })

  test('are bounded in number, as are the waiting tickets and their waiting time', () => {
    const queue = queueOf({ leasesMax: 1, waitingMax: 1, waitMsMax: 50 })
    join(queue, asks('one', 1, 'a'), 0)
    expect(join(queue, asks('two', 2, 'b'), 0)).toEqual([{ id: 'two', outcome: 'late' }])
    expect(join(queue, asks('three', 3, 'a'), 0)).toEqual([])
    expect(queue.join(asks('four', 4, 'a'), 0)).toBe(false)
    expect(queue.wakeAtMs).toBe(50)
    expect(queue.advance(50)).toEqual([{ id: 'three', outcome: 'late' }])
  })
})

type Move =
  | { readonly kind: 'join'; readonly keys: string[]; readonly isAsking: boolean }
  | { readonly kind: 'end' | 'use'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }

const MOVE: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('join' as const),
    keys: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }),
    isAsking: fc.boolean(),
  }),
  fc.record({ kind: fc.constantFrom('end' as const, 'use' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 300 }) }),
)

test('whatever happens, no key is leased twice, no ticket is overtaken, and every ticket gets an answer', () => {
  fc.assert(fc.property(fc.array(MOVE, { maxLength: 60 }), play), { numRuns: 500 })
})

function play(moves: readonly Move[]): void {
  const queue = queueOf()
  const waiting = new Map<string, { readonly ticket: Ticket; readonly sinceMs: number }>()
  const leased = new Map<string, { readonly ticket: Ticket; endsAtMs: number }>()
  let nowMs = 0
  const settle = () => {
    for (const [id, { endsAtMs }] of leased) if (endsAtMs <= nowMs) leased.delete(id)
    for (const { id, outcome } of queue.advance(nowMs)) {
      const { ticket, sinceMs } = waiting.get(id)!
      waiting.delete(id)
      if (outcome === 'late') {
        expect(nowMs - sinceMs).toBeGreaterThanOrEqual(LIMITS.waitMsMax)
        continue
      }
      const inTheWay = [...leased.values(), ...waiting.values()].filter(other => {
        return other.ticket.order < ticket.order && other.ticket.keys.some(key => ticket.keys.includes(key))
      })
      expect(inTheWay).toEqual([])
      if (outcome === 'leased') leased.set(id, { ticket, endsAtMs: nowMs + ticket.leaseMs! })
    }
    const keys = [...leased.values()].flatMap(({ ticket }) => ticket.keys)
    expect(new Set(keys).size).toBe(keys.length)
  }
  for (const [i, move] of moves.entries()) {
    if (move.kind === 'join') {
      const order = queue.nextOrder()
      const ticket = move.isAsking ? asks(`${i}`, order, ...move.keys) : passes(`${i}`, order, ...move.keys)
      waiting.set(ticket.id, { ticket, sinceMs: nowMs })
      queue.join(ticket, nowMs)
    } else if (move.kind === 'wait') {
      nowMs += move.ms
    } else {
      const id = [...leased.keys()][move.which]
      if (id !== undefined && move.kind === 'end') {
        queue.end(id)
        leased.delete(id)
      } else if (id !== undefined) {
        expect(queue.use(id, nowMs)).toBeDefined()
        leased.get(id)!.endsAtMs = Number.POSITIVE_INFINITY
      }
    }
    settle()
  }
  for (const id of leased.keys()) queue.end(id)
  leased.clear()
  settle()
  for (let wakeAtMs = queue.wakeAtMs; wakeAtMs !== undefined; wakeAtMs = queue.wakeAtMs) {
    nowMs = wakeAtMs
    settle()
  }
  expect(waiting.size).toBe(0)
  expect(queue.isIdle).toBe(true)
}
