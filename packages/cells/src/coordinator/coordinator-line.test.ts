/** Coordinators that ask each other, over real connections. */
import { createMemoryStore } from '@freshet/engines/memory'
import { eventually } from '@freshet/engines/under-test/eventually'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Cells, type Node, openCells } from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'
import { CoordinatorLine, type ListenOptions } from './coordinator-line.js'

const KEY = 'shop/products/42'
const PROMISE_MS = 300
/** Gossip at short intervals: a coordinator that is gone is soon suspected, but a busy machine may be suspected too. */
const OFTEN = { gossip: { everyMs: 20, phiMax: 8, forgetMs: 60_000 } }

const toEnd: (() => Promise<unknown>)[] = []
let nodes: readonly { readonly name: string; readonly node: Node }[]

beforeEach(() => {
  nodes = ['a', 'b', 'c'].map(name => ({ name, node: { ...methodsOf(createMemoryStore()), close: async () => {} } }))
})
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

function methodsOf(store: ReturnType<typeof createMemoryStore>): Omit<Node, 'close'> {
  const node = createStoreNode(store)
  return {
    read: keys => node.read(keys),
    write: (write, holds) => node.write(write, holds),
    scan: (bucket, range) => node.scan(bucket, range),
    buckets: () => node.buckets(),
  }
}

/** With a line that can be closed without releasing the keys. */
async function open(listen: ListenOptions = {}): Promise<{ readonly cells: Cells; readonly line: CoordinatorLine }> {
  const line = await CoordinatorLine.open(listen)
  const options = { nodes, hintsEveryMs: 0, tenures: { promiseMs: PROMISE_MS } }
  const cells = await openCells({ ...options, self: line.self, others: line })
  line.serve(cells, cells.layout.secret)
  return { cells, line }
}

async function openToEnd(listen?: ListenOptions): Promise<Cells> {
  const { cells, line } = await open(listen)
  toEnd.push(() => line.close())
  return cells
}

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

test('a key that one coordinator holds is written and read by the other through the holder', async () => {
  const [first, second] = [await openToEnd(), await openToEnd()]
  await first.write(KEY, text('tea'))
  await second.write(KEY, text('coffee'))
  expect(await second.read(KEY, 'CURRENT')).toMatchObject({ value: text('coffee'), isCurrent: true })
  expect(await first.read(KEY, 'CURRENT')).toMatchObject({ value: text('coffee'), isCurrent: true })
  expect([first.tenures.size, second.tenures.size]).toEqual([1, 0])
  await second.write(KEY, undefined)
  expect(await first.read(KEY, 'CURRENT')).toMatchObject({ value: undefined, isCurrent: true })
})

test('bytes come through unchanged', async () => {
  const [first, second] = [await openToEnd(), await openToEnd()]
  await first.read(KEY, 'CURRENT')
  const body = Buffer.from([0, 255, 128, 10])
  await second.write(KEY, { contentType: 'x/y', body })
  expect((await second.read(KEY, 'CURRENT')).value).toEqual({ contentType: 'x/y', body })
})

test('a request without the secret of the ring is refused', async () => {
  const cells = await openToEnd()
  await cells.write(KEY, text('tea'))
  const [url] = cells.tenures.self.split('#') as [string]
  const body = JSON.stringify({ holder: cells.tenures.self, question: { kind: 'read', key: KEY } })
  for (const authorization of ['', 'Bearer ', `Bearer ${cells.layout.secret}x`]) {
    expect((await fetch(url, { method: 'POST', body, headers: { authorization } })).status).toBe(403)
  }
  const trusted = await fetch(url, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${cells.layout.secret}` },
  })
  expect(trusted.status).toBe(200)
})

test('after a holder is gone, its promise is waited for and its key goes to the next', async () => {
  const { cells: first, line } = await open()
  const second = await openToEnd()
  await first.write(KEY, text('tea'))
  await line.close()
  expect(await second.read(KEY, 'CURRENT')).toMatchObject({ value: text('tea'), isCurrent: true })
  await second.write(KEY, text('coffee'))
  expect(second.tenures.size).toBe(1)
})

test('coordinators find each other by the keys that they hold, and suspect one that is gone', async () => {
  const { cells: first, line } = await open(OFTEN)
  const [second, third] = [await openToEnd(OFTEN), await openToEnd(OFTEN)]
  await first.write(KEY, text('tea'))
  await first.write('shop/products/43', text('tea'))
  await second.read(KEY, 'CURRENT')
  await third.read('shop/products/43', 'CURRENT')
  const seen = (cells: Cells) => cells.coordinators().map(({ name, isSuspected }) => [name, isSuspected])
  const others = [first, third].map(({ tenures }) => [tenures.self, false])
  await eventually('the second knows the third, whom it never met', () => {
    return JSON.stringify(seen(second).sort()) === JSON.stringify(others.sort())
  })
  await line.close()
  await eventually('the first is suspected', () => {
    return [second, third].every(cells =>
      cells.coordinators().some(({ name, isSuspected }) => name === first.tenures.self && isSuspected),
    )
  })
  expect(second.coordinators().find(({ name }) => name === third.tenures.self)).toBeDefined()
})
