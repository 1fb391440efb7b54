import { createMemoryStore } from '@freshet/engines/memory'
import { describe, expect, test } from 'vitest'
import { type Cells, openCells } from '../index.js'
import { NO_STAMP } from '../records/index.js'

const KEY = 'shop/products/42'

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

async function threeNodes(): Promise<Cells> {
  return openCells({ nodes: ['a', 'b', 'c'].map(name => ({ name, node: createMemoryStore() })), hintsEveryMs: 0 })
}

describe('with all nodes up', () => {
  test.each(['ONE', 'QUORUM', 'ALL', 'CURRENT'] as const)('what was written at QUORUM is read at %s', async level => {
    const cells = await threeNodes()
    const { stamp } = await cells.write(KEY, text('tea'))
    await cells.quiet()
    const read = await cells.read(KEY, level)
    expect(read.value).toEqual(text('tea'))
    expect(read.stamp).toEqual(stamp)
    expect(read.isCurrent).toBe(level === 'CURRENT')
    await cells.close()
  })

  test.each(['ANY', 'ONE', 'QUORUM', 'ALL'] as const)('what was written at %s is read as current', async level => {
    const cells = await threeNodes()
    await cells.write(KEY, text('tea'), level)
    await cells.write(KEY, text('coffee'), level)
    await cells.quiet()
    expect(await cells.read(KEY, 'CURRENT')).toMatchObject({ value: text('coffee'), isCurrent: true })
    await cells.write(KEY, undefined, level)
    await cells.quiet()
    expect(await cells.read(KEY, 'CURRENT')).toMatchObject({ value: undefined, isCurrent: true })
    await cells.close()
  })

  test('a key that was never written is read as absent, and as current', async () => {
    const cells = await threeNodes()
    expect(await cells.read(KEY, 'CURRENT')).toMatchObject({ value: undefined, stamp: NO_STAMP, isCurrent: true })
    await cells.close()
  })

  test('a bucket is scanned in order, without deleted keys', async () => {
    const cells = await threeNodes()
    for (const id of ['d', 'b', 'a', 'c']) await cells.write(`shop/products/${id}`, text(id))
    await cells.write('shop/products/b', undefined)
    const first = await cells.scan('shop/products', { limit: 2 })
    const rest = await cells.scan('shop/products', { limit: 2, after: first.next! })
    expect([...first.entries, ...rest.entries].map(({ id }) => id)).toEqual(['a', 'c', 'd'])
    await cells.close()
  })
})
