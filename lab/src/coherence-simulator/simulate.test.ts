import { describe, expect, it } from 'vitest'
import { drawFaults, drawMix, MIXES, type Mix } from './mix.js'
import { type SimulationResult, simulate } from './simulate.js'

interface Run {
  readonly mix: Mix
  readonly seed: number
}

function run({ name, durationMs, ...mix }: Mix, seed: number, share = 1): Run {
  return { mix: { ...mix, name, durationMs: durationMs * share }, seed }
}

const RUNS: readonly Run[] = [
  run(MIXES.tame, 1, 0.4),
  run(MIXES.worst, 1),
  run(MIXES.worst, 2, 0.6),
  run(MIXES.short, 5, 0.3),
  run(MIXES.busy, 6, 0.6),
  run(MIXES['hidden age'], 7, 0.5),
  run(drawMix(9), 9),
  run(drawMix(10), 10),
]

/** Each cache has two or three faults at once. */
const FAULTY: readonly Run[] = Array.from({ length: 8 }, (_, i) => run(drawFaults(i + 1, 100_000), i + 1))

const results = new Map<Run, SimulationResult>()

function resultOf(each: Run): SimulationResult {
  const result = results.get(each) ?? simulate(each)
  results.set(each, result)
  return result
}

describe('no read is older than promised', () => {
  it.each(RUNS.map(each => [each.mix.name, each.seed, each] as const))(
    'in the mix "%s" from seed %i',
    (_, seed, each) => {
      const result = resultOf(each)
      expect(result.violations, result.trace).toBe(0)
      expect(result.seed).toBe(seed)
      expect(result.reads).toBeGreaterThan(10_000)
      // While all servers are down, reads that no cache can answer fail.
      expect(result.failed / result.reads).toBeLessThan(0.05)
      expect(result.untrustworthy).toBe(0)
    },
  )

  it.each(FAULTY.map(each => [each.mix.name, each] as const))(
    'behind caches with several faults at once, %s: some reads are refused instead',
    (_, each) => {
      const result = resultOf(each)
      expect(result.violations, result.trace).toBe(0)
      expect(result.reads).toBeGreaterThan(5000)
    },
  )

  it('reads are refused behind some of these caches, but not behind all', () => {
    const counts = FAULTY.map(each => resultOf(each).untrustworthy)
    expect(counts.filter(count => count > 0).length).toBeGreaterThan(2)
    expect(counts.filter(count => count === 0).length).toBeGreaterThan(0)
  })

  it('in a million reads, most of them answered by caches', () => {
    const sum = (runs: readonly Run[], count: (result: SimulationResult) => number) =>
      runs.reduce((total, each) => total + count(resultOf(each)), 0)
    const all = [...RUNS, ...FAULTY]
    const reads = sum(all, result => result.reads)
    const hitShare = 1 - sum(RUNS, result => result.originReads) / sum(RUNS, result => result.reads)
    const figures = {
      reads,
      hitShare,
      refused: sum(all, result => result.refused),
      heads: sum(all, result => result.heads),
    }
    process.stdout.write(`simulated: ${JSON.stringify(figures)}\n`)
    expect(reads).toBeGreaterThan(1_000_000)
    expect(hitShare).toBeGreaterThan(0.65)
    expect(1 - resultOf(RUNS[1]!).originReads / resultOf(RUNS[1]!).reads).toBeGreaterThan(0.75)
  })
})

it('a run is a function of its seed', () => {
  const mix = { ...MIXES.worst, durationMs: 30_000 }
  expect(simulate({ mix, seed: 5 })).toEqual(simulate({ mix, seed: 5 }))
  expect(simulate({ mix, seed: 5 })).not.toEqual(simulate({ mix, seed: 6 }))
})
