import { describe, expect, it } from 'vitest'
import type { FilterDetails } from './filter-worker.js'
import { OURS } from './portable-contenders.js'
import { type Outcome, reportBloom } from './report.js'

const fair: FilterDetails = { entries: 1000, bitsPerEntry: 9.585, measuredRate: 0.0101, falseNegatives: 0 }

function outcome(
  filters: Record<string, [add: number, hit: number, miss: number, details?: Partial<FilterDetails>]>,
): Outcome {
  const rows = Object.entries(filters)
  return {
    standings: rows.map(([name, [add, hit, miss]]) => ({
      name,
      medians: { add, hit, miss },
      rounds: [{ add, hit, miss }],
    })),
    details: new Map(rows.map(([name, [, , , details]]) => [name, { ...fair, ...details }])),
  }
}

const node = outcome({
  [OURS]: [100, 50, 40, { bitsPerEntry: 9.85 }],
  'good-at-adding': [150, 500, 200],
  'good-at-asking': [300, 100, 160],
  cheat: [10, 10, 10, { measuredRate: 0.021 }],
  forgetful: [10, 10, 10, { falseNegatives: 3 }],
  'bloom-filters': [7000, 5000, 4000],
})
const browser = outcome({ [OURS]: [100, 100, 100], other: [90, 200, 300] })
const { summary, notes } = reportBloom({ node, browser, entries: 1000, rate: 0.01, theoreticalRate: 0.01 })

describe('the result of the bloom bench', () => {
  it('compares with the best peer for each measure', () => {
    expect(summary).toMatchObject({ addRatioToBestPeer: 1.5, hitRatioToBestPeer: 2, missRatioToBestPeer: 4 })
    expect(summary.bestPeers).toEqual({ add: 'good-at-adding', hit: 'good-at-asking', miss: 'good-at-asking' })
  })

  it('compares with bloom-filters', () => {
    expect(summary).toMatchObject({
      addRatioToBloomFilters: 70,
      hitRatioToBloomFilters: 100,
      missRatioToBloomFilters: 100,
    })
  })

  it('shows, but does not count, peers that answer wrongly', () => {
    expect(notes.filter(note => note.startsWith('Not counted'))).toEqual([
      'Not counted as a peer: cheat, whose rate is 2.1% instead of 1%.',
      'Not counted as a peer: forgetful, whose rate is 1.01% instead of 1%, and which loses 3 keys.',
    ])
    const contenders = summary.contenders as { name: string; countsAsPeer: boolean }[]
    expect(contenders.filter(({ countsAsPeer }) => countsAsPeer).map(({ name }) => name)).toEqual([
      'good-at-adding',
      'good-at-asking',
      'bloom-filters',
    ])
  })

  it('says where ours is slower', () => {
    expect(summary.browser).toMatchObject({ addRatioToBestPeer: 0.9, hitRatioToBestPeer: 2, missRatioToBestPeer: 3 })
  })

  it('has the rates and the size', () => {
    expect(summary).toMatchObject({ measuredRate: 0.0101, theoreticalRate: 0.01, bitsPerEntry: 9.85 })
    expect(summary.leastBitsPerEntry).toBeCloseTo(9.585, 3)
  })
})
