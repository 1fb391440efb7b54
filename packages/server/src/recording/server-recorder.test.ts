import { HistoryChecker, type HistoryRecord, parseRecord } from '@freshet/core/history'
import { createMemoryStore } from '@freshet/engines/memory'
import { expect, test } from 'vitest'
import { jsonRequest, startServer } from '../testing/running-server.js'

async function record(act: (server: Awaited<ReturnType<typeof startServer>>) => Promise<unknown>) {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const store = createMemoryStore({ positionsAfter: 0 })
  const server = await startServer({ store, record: { write, part: [0, 1] } })
  await act(server)
  await server.stop()
  await store.close()
  return { lines, records: lines.map(parseRecord) }
}

test('a server records what it acknowledged and what it answered, without the values', async () => {
  const { lines, records } = await record(async server => {
    await server.put('/db/shop/products/1', { price: 1 })
    await server.fetch('/db/shop/products/1')
    await server.fetch('/db/shop/products/1', { method: 'DELETE' })
    await server.fetch('/db/shop/products/1')
    await server.fetch('/db/shop/cups', jsonRequest('PUT', { kind: 'kv' }))
    await server.fetch('/db/shop/products/2', jsonRequest('PUT', {}, { 'if-match': '"7"' }))
  })
  const [first] = records
  expect(first).toMatchObject({ op: 'session', role: 'server', part: [0, 1], pos: 0 })
  expect(records.slice(1, -1)).toMatchObject([
    { op: 'commit', at: 1, w: ['/db/shop/products/1', '/db/shop/products'] },
    { op: 'read', path: '/db/shop/products/1', v: 1, pos: 1, within: 0, by: 'origin' },
    { op: 'commit', at: 2, w: ['/db/shop/products'], d: ['/db/shop/products/1'] },
    { op: 'read', path: '/db/shop/products/1', v: 0, pos: 2 },
    { op: 'commit', at: 3, w: ['/db/shop/cups'] },
  ])
  expect(records.at(-1)).toMatchObject({ op: 'session', s: first!.s, pos: 3 })
  expect(lines.join()).not.toContain('price')
})

test('the recording keeps the promise of an origin, and an older answer would break it', async () => {
  const { records } = await record(async server => {
    for (let price = 0; price < 20; price++) {
      await server.put('/db/shop/products/1', { price })
      await server.fetch('/db/shop/products/1')
    }
  })
  const check = (history: readonly HistoryRecord[]) => {
    const checker = new HistoryChecker()
    for (const each of history) checker.add(each)
    return checker.finish()
  }
  expect(check(records)).toMatchObject({ reads: 20, brokenReads: 0 })
  const older = records.map(each => (each.op === 'read' && each.v > 1 ? { ...each, v: each.v - 1 } : each))
  expect(check(older)).toMatchObject({ reads: 20, brokenReads: 19 })
})
