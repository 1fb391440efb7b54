import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Cell, CellType } from './final-expression.js'
import { mergeRows, type RowsMerge } from './merge-rows.js'
import { RowMerger, type StreamedMerge } from './row-merger.js'

type Row = readonly Cell[]

/** The columns selected, and one more that rows may be sorted by. */
const TYPES: readonly CellType[] = ['integer', 'text', 'float']

const ROWS = fc.array(
  fc.tuple(
    fc.option(
      fc.integer({ min: -3, max: 3 }).map(n => `${n}`),
      { nil: null },
    ),
    fc.constantFrom<Cell>('a', 'B', 'é', null),
    fc.constantFrom<Cell>(0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, null),
  ),
  { maxLength: 12 },
)

const MERGES: fc.Arbitrary<RowsMerge> = fc.record({
  kind: fc.constant('rows' as const),
  dialect: fc.constantFrom('postgres', 'mariadb'),
  textOrder: fc.constant('bytes' as const),
  width: fc.constant(2),
  sortKeys: fc.array(
    fc.record({
      value: fc.nat({ max: 2 }).map(slot => ({ kind: 'cell' as const, slot })),
      isDescending: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  offset: fc.nat({ max: 4 }),
  limit: fc.option(fc.nat({ max: 15 }), { nil: undefined }),
})

/** The rows in the order of one shard, without the offset and limit of the whole result. */
function sortedBy(merge: RowsMerge, rows: readonly Row[]): readonly Row[] {
  const whole = { ...merge, width: TYPES.length, offset: 0, limit: undefined }
  return mergeRows(whole, [{ types: TYPES, rows }], 1000).rows
}

interface Read {
  readonly rows: readonly Row[]
  /** The most rows that were given and not yet taken at any time. */
  readonly heldMax: number
}

function readAll(merge: StreamedMerge, shards: readonly (readonly Row[])[], batchSize: number): Read {
  const merger = new RowMerger(
    merge,
    shards.map(() => TYPES),
  )
  const places = shards.map(() => 0)
  const rows: Row[] = []
  let [given, taken, heldMax] = [0, 0, 0]
  for (let place = merger.wants; place !== undefined; place = merger.wants) {
    const batch = shards[place]!.slice(places[place]!, places[place]! + batchSize)
    places[place]! += batch.length
    merger.give(place, batch)
    given += batch.length
    heldMax = Math.max(heldMax, given - taken)
    const some = merger.take()
    taken += some.length
    rows.push(...some)
  }
  return { rows, heldMax }
}

describe('rows that arrive piece by piece', () => {
  test('are merged as all of them at once are, whatever the pieces', () => {
    fc.assert(
      fc.property(
        MERGES,
        fc.array(ROWS, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 5 }),
        (merge, given, size) => {
          const shards = given.map(rows => sortedBy(merge, rows))
          const answers = shards.map(rows => ({ types: TYPES, rows }))
          expect(readAll(merge, shards, size).rows).toEqual(mergeRows(merge, answers, 1000).rows)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('are held only until it is known which is next', () => {
    fc.assert(
      fc.property(MERGES, fc.array(ROWS, { minLength: 1, maxLength: 4 }), (merge, given) => {
        const shards = given.map(rows => sortedBy(merge, rows))
        const { heldMax } = readAll({ ...merge, offset: 0 }, shards, 2)
        expect(heldMax).toBeLessThanOrEqual(2 * shards.length)
      }),
    )
  })

  test('are those of the shard, unchanged, if only one was asked', () => {
    const rows: readonly Row[] = [
      ['2', 'x', 0],
      ['1', 'y', 0],
      ['3', null, 0],
    ]
    expect(readAll({ kind: 'whole', width: 3 }, [rows], 2).rows).toEqual(rows)
  })

  test('are refused if a shard sorts them in another order', () => {
    const sortKeys = [{ value: { kind: 'cell', slot: 1 }, isDescending: false }] as const
    const manner = { dialect: 'postgres', textOrder: 'bytes' } as const
    const merge = { kind: 'rows', ...manner, width: 3, sortKeys, offset: 0, limit: undefined } as const
    const shard = [
      ['1', 'b', 0],
      ['2', 'a', 0],
    ]
    expect(() => readAll(merge, [shard, []], 5)).toThrow(expect.objectContaining({ code: 'SQL_REFUSED' }))
  })

  test('of columns of different types are refused', () => {
    const types: readonly (readonly CellType[])[] = [['integer'], ['text']]
    expect(() => new RowMerger({ kind: 'whole', width: 1 }, types)).toThrow(
      expect.objectContaining({ code: 'SHARD_DRIFT' }),
    )
  })
})
