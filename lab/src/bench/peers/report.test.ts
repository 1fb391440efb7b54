import { describe, expect, it } from 'vitest'
import type { Standing } from '../../harness/side-by-side.js'
import { type Measured, type PeerMeasure, reportOf } from './report.js'

/** A contender that was equally fast in two rounds. */
function standing(name: string, readsPerSecond: number, writesPerSecond: number): Standing<PeerMeasure> {
  const medians = { read: 1e9 / readsPerSecond, write: 1e9 / writesPerSecond }
  return { name, medians, rounds: [medians, medians] }
}

const REDIS = {
  ...{ name: 'Redis', boundMs: 60_000, reads: 1000, writes: 100 },
  ...{ stale: 7, beyondBound: 0, oldestMs: 900, leftStale: 2, objects: 48 },
}

function measured(more: Partial<Measured> = {}): Measured {
  return {
    standings: [
      standing('freshet', 1000, 100),
      standing('freshet-relaxed', 1100, 300),
      standing('pocketbase', 500, 100),
      standing('pocketbase-full', 250, 200),
    ],
    durability: { freshet: 'a power cut' },
    staleReads: [REDIS],
    visible: [{ name: 'zero', medians: { visible: 20_340_000 }, rounds: [] }],
    skipped: {},
    versions: { pocketbase: 'v1' },
    ...more,
  }
}

describe('the result of the bench of peers', () => {
  it('compares a peer with the Freshet whose writes survive the same', () => {
    const { summary } = reportOf(measured())
    expect(summary.ratios).toEqual({
      pocketbase: { freshet: 'freshet-relaxed', reads: 2.2, writes: 3 },
      'pocketbase-full': { freshet: 'freshet', reads: 4, writes: 0.5 },
    })
  })

  it('has the rates, and what a write survives', () => {
    const { summary, tables } = reportOf(measured())
    expect(summary.ratesPerSecond).toMatchObject({ freshet: { reads: 1000, writes: 100 } })
    expect(tables[0]!.rows[0]).toEqual(['freshet', 1000, 100, 'a power cut'])
  })

  it('leaves out a peer that was skipped, and says why', () => {
    const { summary, notes } = reportOf(
      measured({ standings: [standing('freshet', 1000, 100)], skipped: { pocketbase: 'go is not installed' } }),
    )
    expect(summary).toMatchObject({ ratios: {}, skipped: { pocketbase: 'go is not installed' } })
    expect(notes).toContain('Skipped: pocketbase. go is not installed')
  })

  it('shows the stale reads of every cache', () => {
    const { summary, tables } = reportOf(measured())
    expect(summary.staleReads).toEqual([REDIS])
    expect(tables.at(-2)!.rows).toEqual([['Redis', 1000, 100, 7, 0, 900, '2 of 48']])
  })

  it('has the time until a client shows a write', () => {
    const { summary, tables } = reportOf(measured())
    expect(summary.visibleMs).toEqual({ zero: 20.3 })
    expect(tables.at(-1)!.rows).toEqual([['zero', 20.3]])
  })
})
