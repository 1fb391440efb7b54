import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CellRecord,
  claimed,
  copied,
  DISPUTED,
  EMPTY_RECORD,
  type Holding,
  merged,
  NO_COORDINATOR,
  released,
  renewed,
  wished,
  written,
} from './cell-record.js'
import { compareStamps, type Stamp, stampBeside, stampOf } from './stamp.js'

const A: Holding = { tenure: 3, holder: 'a' }
const B: Holding = { tenure: 4, holder: 'b' }
const HELD = claimed(EMPTY_RECORD, A)!

function cell(stamp: Stamp, text = 'x') {
  return { stamp, value: { contentType: 'text/plain', body: new TextEncoder().encode(text) } }
}

describe('a vote', () => {
  it('is for one holder until that holder resigns, or shows no beat for as long as a promise lasts', () => {
    expect(claimed(HELD, B)).toBeUndefined()
    expect(claimed(HELD, B, { tenure: 3, beat: HELD.beat })).toMatchObject(B)
    expect(claimed(renewed(HELD, A)!, B, { tenure: 3, beat: HELD.beat })).toBeUndefined()
    expect(claimed(released(HELD, A)!, B)).toMatchObject(B)
  })

  it('is given to the same holder at once, but only for a higher tenure', () => {
    expect(claimed(HELD, { tenure: 4, holder: 'a' })).toMatchObject({ tenure: 4, holder: 'a' })
    expect(claimed(HELD, { tenure: 3, holder: 'a' })).toBeUndefined()
  })

  it('is not released by another holder, nor under an earlier tenure', () => {
    expect(released(HELD, { tenure: 3, holder: 'b' })).toBeUndefined()
    expect(released(HELD, { tenure: 2, holder: 'a' })).toBeUndefined()
  })

  it('can be wished for by one coordinator at a time, until the holder releases it', () => {
    expect(wished(EMPTY_RECORD, 'b')).toBeUndefined()
    const asked = wished(HELD, 'b')!
    expect(asked.wish).toBe('b')
    expect(wished(asked, 'c')).toBeUndefined()
    expect(released(asked, A)!.wish).toBe(NO_COORDINATOR)
  })
})

describe('a cell', () => {
  it('is not written under a tenure when a later one was granted', () => {
    const later = claimed(released(HELD, A)!, B)!
    expect(written(later, cell(stampOf({ tenure: 3, count: 9 })), A)).toBeUndefined()
    expect(renewed(later, A)).toBeUndefined()
    expect(written(later, cell(stampOf({ tenure: 4, count: 1 })), B)).toMatchObject({ stamp: { tenure: 4, count: 1 } })
  })

  it('is kept if it is later than the one written, and the write counts as taken', () => {
    const record = written(HELD, cell(stampOf({ tenure: 3, count: 2 }), 'new'), A)!
    expect(written(record, cell(stampOf({ tenure: 3, count: 1 }), 'old'), A)).toMatchObject({ value: record.value })
    expect(copied(record, cell(stampOf({ tenure: 3, count: 1 })))).toBeUndefined()
  })

  it('of a writer that asked no majority is later than what it knew, and earlier than the next timestamp', () => {
    const known = stampOf({ tenure: 3, count: 2 })
    const first = stampBeside(known, 77, 0)
    const second = stampBeside(known, 77, first.aside)
    expect(compareStamps(first, known)).toBeGreaterThan(0)
    expect(compareStamps(second, first)).toBeGreaterThan(0)
    expect(compareStamps(stampOf({ tenure: 3, count: 3 }), second)).toBeGreaterThan(0)
  })
})

describe('records that are merged', () => {
  it('have no holder if their holders differ, so that every claimant waits', () => {
    const minority = claimed(EMPTY_RECORD, B)!
    for (const record of [merged(HELD, minority), merged(minority, HELD)]) {
      expect(record).toMatchObject({ tenure: 4, holder: DISPUTED })
      expect(claimed(record, { tenure: 5, holder: 'b' })).toBeUndefined()
      expect(claimed(record, { tenure: 5, holder: 'b' }, record)).toBeDefined()
    }
  })

  it('have the later cell and the higher tenure, whichever comes first', () => {
    const records = fc.record({
      stamp: fc.record({ tenure: fc.nat(3), count: fc.nat(3), aside: fc.nat(2), writer: fc.nat(2) }),
      tenure: fc.nat(4),
      holder: fc.constantFrom(NO_COORDINATOR, 'a', 'b'),
      beat: fc.nat(5),
    })
    fc.assert(
      fc.property(records, records, (x, y) => {
        const [a, b] = [x, y].map(each => ({ ...EMPTY_RECORD, ...each })) as [CellRecord, CellRecord]
        const both = merged(a, b)
        for (const each of [a, b]) {
          expect(compareStamps(both.stamp, each.stamp)).toBeGreaterThanOrEqual(0)
          expect(both.tenure).toBeGreaterThanOrEqual(each.tenure)
        }
        expect([a.holder, b.holder, DISPUTED]).toContain(both.holder)
        if (a.holder !== b.holder && a.holder !== NO_COORDINATOR && b.holder !== NO_COORDINATOR)
          expect(both.holder).toBe(DISPUTED)
      }),
    )
  })
})
