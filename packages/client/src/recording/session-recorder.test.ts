import { HistoryChecker, type HistoryRecord, nameOfToken, parseRecord } from '@freshet/core/history'
import { describe, expect, test } from 'vitest'
import { connect } from '../connect.js'
import type { ConnectOptions } from '../connect-options.js'
import { within } from '../reading/read-options.js'
import { createScene } from '../testing/scene.js'

async function createRecordedScene(options: ConnectOptions = {}) {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const scene = await createScene({ record: write, ...options })
  return { ...scene, lines, records: () => lines.map(parseRecord) }
}

function ofOp<Op extends HistoryRecord['op']>(records: readonly HistoryRecord[], op: Op) {
  return records.filter((record): record is Extract<HistoryRecord, { op: Op }> => record.op === op)
}

describe('a recorded session', () => {
  test('contains what it promised, what it got and from where, and never the values', async () => {
    const { db, records, lines } = await createRecordedScene({ staleness: 250 })
    const products = db.bucket('shop/products')
    await products.get('1')
    await products.get('1', { read: within(5) })
    await products.get('1', { read: 'current' })
    await products.get('none', { read: 'any' })
    expect(ofOp(records(), 'read')).toMatchObject([
      { path: '/db/shop/products/1', within: 250, v: 1, by: 'server' },
      { within: 5, v: 1 },
      { within: 0, v: 1 },
      { path: '/db/shop/products/none', v: 0, pos: 1 },
    ])
    expect(ofOp(records(), 'read')[3]).not.toHaveProperty('within')
    expect(lines.join()).not.toContain('price')
    db.close()
  })

  test('contains each of several additions by its version, and none that was refused', async () => {
    const { db, records } = await createRecordedScene()
    await db.counter('shop/stock').addMany([{ id: 'a' }, { id: 'b', by: -1 }, { id: 'c' }])
    expect(ofOp(records(), 'write')).toMatchObject([
      { at: 2, w: ['/db/shop/stock/a', '/db/shop/stock'] },
      { at: 3, w: ['/db/shop/stock/c', '/db/shop/stock'] },
    ])
    db.close()
  })

  test('contains writes with the buckets they change, deletions, commits, and ids that the server generated', async () => {
    const { db, records, origin } = await createRecordedScene()
    await db.bucket('shop/products').put('2', { price: 2 })
    await db.bucket('shop/products').delete('2')
    origin.script = ({ method, target }) =>
      method === 'POST' && target === '/db/shop/products'
        ? Response.json({ id: 'new', version: 9, position: 9 })
        : undefined
    await db.bucket('shop/products').create({ price: 3 })
    origin.script = ({ target }) => (target === '/commit' ? Response.json({ position: 10 }) : undefined)
    await db.commit([
      { bucket: 'shop/products', id: '4', value: { price: 4 } },
      { bucket: 'shop/products', id: '5', delete: true },
    ])
    expect(records().filter(({ op }) => op === 'write' || op === 'commit')).toMatchObject([
      { op: 'write', at: 2, w: ['/db/shop/products/2', '/db/shop/products'] },
      { op: 'write', at: 3, w: ['/db/shop/products'], d: ['/db/shop/products/2'] },
      { op: 'write', at: 9, w: ['/db/shop/products/new', '/db/shop/products'] },
      { op: 'commit', at: 10, w: ['/db/shop/products/4', '/db/shop/products'], d: ['/db/shop/products/5'] },
    ])
    db.close()
  })

  test('contains each object of a list, including missing ones', async () => {
    const { db, records } = await createRecordedScene()
    await db.bucket('shop/products').page()
    await db.bucket('shop/products').getMany(['1', 'none'])
    expect(ofOp(records(), 'read').map(({ path, v }) => [path, v])).toEqual([
      ['/db/shop/products', 1],
      ['/db/shop/products/1', 1],
      ['/db/shop/products/1', 1],
      ['/db/shop/products/none', 0],
    ])
    db.close()
  })

  test("relates its clock to the server's, if the server reports its time", async () => {
    const { db, origin, records } = await createRecordedScene()
    expect(ofOp(records(), 'session')).toHaveLength(1)
    expect(records()[0]).not.toHaveProperty('lo')
    const lines: string[] = []
    origin.script = ({ target }) => {
      const [, nonce] = /^\/time\?nonce=(.*)$/.exec(target) ?? []
      return nonce === undefined ? undefined : Response.json({ timeMs: 1234, nonce })
    }
    const other = await connect(origin.url, {
      fetch: origin.fetch,
      clock: origin.clock,
      record: line => lines.push(line),
    })
    const [session] = ofOp(lines.map(parseRecord), 'session')
    expect(session!.c).toBe(ofOp(records(), 'session')[0]!.c)
    expect(session!.t + session!.lo!).toBe(1_234_000)
    expect(session!.hi! - session!.lo!).toBeGreaterThanOrEqual(1000)
    db.close()
    other.close()
  })

  test('is linked by a token with the session that continues it', async () => {
    const { db, origin, lines, records } = await createRecordedScene()
    await db.bucket('shop/products').put('2', { price: 2 })
    const { token } = db.session
    // Read again without anything new, the token is not recorded again.
    expect(db.session.token).toBe(token)
    const record = (line: string) => void lines.push(line)
    const next = await connect(origin.url, { fetch: origin.fetch, clock: origin.clock, record, token })
    expect(ofOp(records(), 'token')).toMatchObject([{ token: nameOfToken(token) }])
    expect(ofOp(records(), 'session').at(-1)).toMatchObject({ from: nameOfToken(token) })
    const checker = new HistoryChecker()
    for (const each of records()) checker.add(each)
    expect(checker.finish()).toMatchObject({ handOvers: 1, undecided: { handOvers: 0 } })
    db.close()
    next.close()
  })

  test('gets another name when the server gets another store, in which the old positions mean nothing', async () => {
    const { db, origin, records } = await createRecordedScene()
    await db.bucket('shop/products').get('1')
    origin.replace()
    await db.session.refresh()
    await db.bucket('shop/products').get('1')
    expect(ofOp(records(), 'session').map(({ log }) => log)).toEqual(['log-1', 'log-2'])
    const [before, after] = ofOp(records(), 'read').map(({ s }) => s)
    expect(after).toBe(`${before}.2`)
    db.close()
  })

  test('records only its sample, and hashes', async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(line)
    const none = await createScene({ record: { write, sample: 0 } })
    await none.db.bucket('shop/products').get('1')
    expect(lines.map(parseRecord).map(({ op }) => op)).toEqual(['session'])
    const hashed = await createScene({ record: { write, hashPaths: 'secret' } })
    await hashed.db.bucket('shop/products').get('1')
    expect(lines.join()).not.toContain('/db/')
    expect(lines).toHaveLength(3)
    none.db.close()
    hashed.db.close()
  })
})

const write = () => {}

test.each([[{ write: 1 }], [{ write, sample: 2 }], [{ write, hashPaths: '' }]])(
  '%j is refused as record options',
  async record => {
    await expect(createScene({ record } as never)).rejects.toMatchObject({ code: 'OPTIONS_INVALID' })
  },
)
