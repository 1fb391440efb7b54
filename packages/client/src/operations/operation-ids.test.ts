import { ServerClock } from '@freshet/core/clock'
import { parseOperationId } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Operation, OperationIds } from './operation-ids.js'

function create(): OperationIds {
  const serverClock = new ServerClock()
  serverClock.sample(100, 5_000_000)
  return new OperationIds(() => 350.7, serverClock)
}

function read(operation: Operation): { client: string; sequence: number; settledTo: number; madeMs: number } {
  const id = parseOperationId(operation.key)
  if (id.kind !== 'own') throw new TypeError('It is of our form.')
  return id
}

test("an id contains its client, its sequence number, and when it was made, by the server's clock", () => {
  const ids = create()
  const one = read(ids.begin())
  const two = read(ids.begin())
  expect(one).toMatchObject({ sequence: 1, settledTo: 0, madeMs: 5_000_250 })
  expect(two).toMatchObject({ sequence: 2, settledTo: 0, client: one.client })
  expect(read(create().begin()).client).not.toBe(one.client)
})

test('in whatever order operations are settled, no id declares an unsettled one settled', () => {
  const step = fc.oneof(fc.constant('begin' as const), fc.nat(20))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const ids = create()
      const open: Operation[] = []
      let begun = 0
      for (const next of steps) {
        if (next === 'begin') {
          open.push(ids.begin())
          begun++
        } else open.splice(next % (open.length + 1), 1)[0]?.settle()
        const sequences = open.map(operation => read(operation).sequence)
        const expected = Math.min(begun + 1, ...sequences) - 1
        for (const operation of open) expect(read(operation).settledTo).toBe(expected)
      }
    }),
  )
})

test('an operation that is never answered does not make the server remember all later ones: they get another client name', () => {
  const ids = create()
  const stuck = read(ids.begin())
  const spans = new Map<string, number>()
  for (let i = 0; i < 5000; i++) {
    const operation = ids.begin()
    const { client, sequence, settledTo } = read(operation)
    spans.set(client, Math.max(spans.get(client) ?? 0, sequence - settledTo))
    operation.settle()
  }
  expect([...spans.keys()]).toHaveLength(2)
  expect(spans.get(stuck.client)).toBe(1024)
  expect(Math.max(...spans.values())).toBeLessThanOrEqual(1024)
})
