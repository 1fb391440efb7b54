import { expect, test } from 'vitest'
import { createRandom } from '../harness/random.js'
import { type Anomaly, checkListAppends, type Operation, type RecordedTransaction } from './list-append-checker.js'

const append = (key: string, value: number): Operation => ({ kind: 'append', key, value })
const read = (key: string, ...values: number[]): Operation => ({ kind: 'read', key, values })
const query = (group: string, ...found: [string, number[]][]): Operation => ({
  kind: 'query',
  group,
  found: new Map(found),
})
const done = (id: number, ...operations: Operation[]): RecordedTransaction => ({ id, outcome: 'committed', operations })

function check(transactions: RecordedTransaction[], lists: Record<string, number[]>): Anomaly['name'][] {
  return checkListAppends(transactions, new Map(Object.entries(lists))).map(({ name }) => name)
}

test.each<[string, RecordedTransaction[], Record<string, number[]>, Anomaly['name'][]]>([
  ['a history that is in order', [done(1, append('x', 1)), done(2, read('x', 1), append('x', 2))], { x: [1, 2] }, []],
  ['its own appends', [done(1, append('x', 1), read('x', 1), append('x', 2), read('x', 1, 2))], { x: [1, 2] }, []],
  [
    'writes interleaved',
    [done(1, append('x', 1), append('y', 1)), done(2, append('x', 2), append('y', 2))],
    { x: [1, 2], y: [2, 1] },
    ['G0'],
  ],
  [
    'each read what the other wrote',
    [done(1, append('x', 1), read('y', 2)), done(2, append('y', 2), read('x', 1))],
    { x: [1], y: [2] },
    ['G1c'],
  ],
  [
    'a lost update, as it appears in lists',
    [done(1, append('x', 1)), done(2, read('x', 1), append('x', 2)), done(3, read('x', 1), append('x', 3))],
    { x: [1, 2, 3] },
    ['G-single'],
  ],
  ['write skew', [done(1, read('x'), append('y', 1)), done(2, read('y'), append('x', 2))], { x: [2], y: [1] }, ['G2']],
  [
    'write skew over objects that queries did not find',
    [done(1, query('a'), append('b.1', 1)), done(2, query('b'), append('a.1', 2))],
    { 'a.1': [2], 'b.1': [1] },
    ['G2'],
  ],
  [
    'queries in order, one of which finds what the other missed',
    [done(1, query('a'), append('b.1', 1)), done(2, query('b', ['b.1', [1]]), append('a.1', 2))],
    { 'a.1': [2], 'b.1': [1] },
    [],
  ],
  ['a read of the aborted', [{ ...done(1, append('x', 1)), outcome: 'aborted' }, done(2, read('x', 1))], {}, ['G1a']],
  ['a read of the middle', [done(1, append('x', 1), append('x', 2)), done(2, read('x', 1))], { x: [1, 2] }, ['G1b']],
  ['a vanished append', [done(1, append('x', 1)), done(2, append('x', 2))], { x: [1] }, ['lost append']],
  ['an append done twice', [done(1, append('x', 1))], { x: [1, 1] }, ['duplicate']],
  ['a lost answer, done', [{ ...done(1, append('x', 1)), outcome: 'unknown' }, done(2, read('x', 1))], { x: [1] }, []],
  ['a lost answer, not done', [{ ...done(1, append('x', 1)), outcome: 'unknown' }], {}, []],
])('%s', (_, transactions, lists, anomalies) => {
  const found = check(transactions, lists)
  for (const name of anomalies) expect(found).toContain(name)
  if (anomalies.length === 0) expect(found).toEqual([])
})

test('operations one after the other are in order, and a late read is found', () => {
  const random = createRandom(7)
  for (let run = 0; run < 50; run++) {
    const lists: Record<string, number[]> = {}
    const transactions = Array.from({ length: 60 }, (_, id) => {
      const operations = Array.from({ length: 3 }, (_, i): Operation => {
        const key = random.pick(['x', 'y', 'z'])
        lists[key] ??= []
        if (random.float() < 0.5) return read(key, ...lists[key])
        lists[key].push(id * 10 + i)
        return append(key, id * 10 + i)
      })
      return done(id, ...operations)
    })
    expect(check(transactions, lists)).toEqual([])
    const writer = transactions.findLast(({ operations }) => operations[0]!.kind === 'append')!
    const { key } = writer.operations[0] as Extract<Operation, { readonly kind: 'append' }>
    const late = done(1000, read(key, ...lists[key]!), append('w', 1))
    const early = done(1001, read('w', 1), read(key))
    expect(check([...transactions, late, early], { ...lists, w: [1] })).toHaveLength(1)
  }
})
