import { describe, expect, it } from 'vitest'
import type { Following } from './following.js'
import { type Measured, type MeasuredRun, reportOf } from './report.js'

/** A run of 10 clients with 20 visits each. */
function run(readMs: number, writeMs: number, more: Partial<MeasuredRun> = {}): MeasuredRun {
  const visits = 20
  const times = { readMs: visits * 10 * readMs, writeMs: visits * writeMs }
  return {
    ...{ clients: 10, reads: 10 * visits * 10, writes: 10 * visits, ...times },
    ...{
      totalMs: times.readMs + times.writeMs,
      waited: 100,
      remembered: 200,
      originReads: 210,
      processorShare: 0.2,
      ...more,
    },
  }
}

function measured(objects: number, spread: Measured['spread'], lastReadMs: number, staleReads = 0): Measured {
  const cachedRuns = [run(80, 170), run(40, 170), run(lastReadMs, 170)]
  return {
    ...{ objects, spread },
    cached: { runs: cachedRuns, staleReads, traces: staleReads === 0 ? [] : ['what was stale'] },
    // A fifth of the visits: the ratios are of times per visit.
    direct: { runs: [run(165, 165), run(167, 165)], staleReads: 0, traces: [] },
  }
}

const following: Following = {
  visibleMs: Array.from({ length: 100 }, (_, i) => 100 - i),
  readableMs: [300, 100, 200],
  bytesPerMinute: {
    push: { bodies: 1000, onTheLine: 2000 },
    poll: { bodies: 3000, onTheLine: 4000 },
    'on-demand': { bodies: 5000, onTheLine: 6000 },
  },
}

describe('the result of the coherence bench', () => {
  it('is the smallest ratio of the last zipf runs, for reads and for everything', () => {
    const cases = [measured(300, 'zipf', 8.3), measured(3000, 'zipf', 16.6), measured(300, 'uniform', 83)]
    const { summary } = reportOf({ measured: cases, following, clients: 10 })
    expect(summary).toMatchObject({
      speedup: 10,
      speedupWithWritesBound: 11,
      staleReads: 0,
      originFetchesPerWrite: 1.05,
    })
    expect(summary.speedupWithWrites).toBeCloseTo((1660 + 165) / (166 + 170), 2)
  })

  it('counts every stale read, and shows the first ones', () => {
    const cases = [measured(300, 'zipf', 8, 2), measured(3000, 'uniform', 8, 1)]
    const { summary, notes } = reportOf({ measured: cases, following, clients: 10 })
    expect(summary.staleReads).toBe(3)
    expect(notes).toContain('what was stale')
  })

  it('has the quantiles of the time until a write is visible, and the bytes of the sketch when it is pushed', () => {
    const { summary } = reportOf({ measured: [measured(300, 'zipf', 8)], following, clients: 10 })
    expect(summary).toMatchObject({
      visibleP50Ms: 51,
      visibleP99Ms: 100,
      readableP50Ms: 200,
      sketchBytesPerMinute: 1000,
    })
  })

  it('says that the machine was busy', () => {
    const quiet = measured(300, 'zipf', 8)
    const busy = { ...quiet, direct: { ...quiet.direct, runs: [run(250, 165)] } }
    const notesOf = (each: Measured) => reportOf({ measured: [each], following, clients: 10 }).notes.join(' ')
    expect(notesOf(quiet)).not.toContain('busy')
    expect(notesOf(busy)).toContain('busy: a direct read took up to 250 ms')
  })
})
