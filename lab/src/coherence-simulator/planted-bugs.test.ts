/** A checker that never reports anything proves nothing: here it must report violations. */
import { describe, expect, it } from 'vitest'
import type { Promised } from './checker.js'
import { type CacheBehaviour, MIXES, type Mix } from './mix.js'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.js'
import { simulate } from './simulate.js'

/** The same caches, all with these faults. */
function every(mix: Mix, behaviour: Partial<CacheBehaviour>): Mix {
  return {
    ...mix,
    browser: { ...mix.browser, ...behaviour },
    forward: mix.forward.map(cache => ({ ...cache, ...behaviour })),
    reverse: mix.reverse.map(cache => ({ ...cache, ...behaviour })),
  }
}

const KEEPING_HEADS = every(MIXES.worst, { keepsHeadsMs: 5000, leavesOut: 'nonces' })
const HIDING_ALL = every(MIXES['hidden age'], { stripsPosition: true })
const LEAVING_OUT_QUERIES = every(MIXES.worst, { stripsPosition: true, leavesOut: 'queries' })

const PLANTED: readonly (readonly [PlantedBug, Mix, Promised])[] = [
  ['segment dropped', MIXES.worst, 'position'],
  ['listed change dropped', MIXES.worst, 'position'],
  ['floors not kept', MIXES.worst, 'own write'],
  ['gaps in events ignored', MIXES.worst, 'position'],
  ['creation is no change', MIXES.worst, 'position'],
  ['refusals ignored', MIXES['hidden age'], 'position'],
  ['unproven answers believed', HIDING_ALL, 'monotonic'],
  ['unproven answers believed', LEAVING_OUT_QUERIES, 'own write'],
  ['nonces not checked', KEEPING_HEADS, 'staleness'],
  ['events stamped by the store clock', MIXES.worst, 'staleness'],
  ['clock of another process believed', MIXES.worst, 'staleness'],
  // Readers that read often learn what happened by heads as well.
  ['stamp taken after the store was asked', { ...MIXES.worst, thinkMs: 4000, readers: 500 }, 'staleness'],
]

const REFUSED: readonly PlantedBug[] = [
  'window too short',
  'store clock follows the wall',
  'lowering forgets the promise',
  'raising forgets the window',
  'sketch lost in a crash',
  'old state under ?at=',
]

it('every bug in the list is planted below', () => {
  expect(new Set([...PLANTED.map(([bug]) => bug), ...REFUSED])).toEqual(new Set(Object.keys(PLANTED_BUGS)))
})

describe('the simulation finds', () => {
  it.each(PLANTED)('%s', (bug, mix, promised) => {
    const result = simulate({ mix, seed: 1, bug, stopsAt: promised })
    expect([...result.violationsBy.keys()]).toContain(promised)
    expect(result.trace).toContain(`seed 1, mix ${mix.name}, planted: ${bug}`)
  })

  it('reads that go back when a session forgets what it has seen', () => {
    const mix = { ...MIXES.worst, durationMs: MIXES.worst.durationMs / 2 }
    const { violationsBy } = simulate({ mix, seed: 1, bug: 'floors not kept' })
    expect(violationsBy.has('monotonic')).toBe(true)
  })
})

describe('a server that forgets too early, or answers from the past, causes refused answers, and never a stale one:', () => {
  const mix: Mix = {
    ...MIXES.tame,
    name: 'tame, with crashes',
    hasFaults: true,
    lifetimeMs: 20_000,
    durationMs: 200_000,
  }
  // Whether a crash or a lowered lifetime hits where the bug matters is luck: among three seeds, at least one does.
  const SEEDS = [1, 2, 3]
  const refusedWithoutBug = SEEDS.reduce((sum, seed) => sum + simulate({ mix, seed }).refused, 0)

  it.each(REFUSED)('%s', bug => {
    let refused = 0
    for (const seed of SEEDS) {
      const result = simulate({ mix, seed, bug })
      expect(result.violations, result.trace).toBe(0)
      refused += result.refused
      if (refused > 5 * refusedWithoutBug) break
    }
    expect(refused).toBeGreaterThan(5 * refusedWithoutBug)
  })
})

describe('faulty caches are detected, and never believed:', () => {
  it.each([
    ['a row of caches that hide both the age of copies and their position', HIDING_ALL],
    ['caches that leave out queries and remove positions', LEAVING_OUT_QUERIES],
    ['caches that keep heads and leave out nonces', KEEPING_HEADS],
    ['caches that serve past expiry longer than the slack', { ...every(MIXES.worst, { graceMs: 30_000 }), slackMs: 0 }],
  ])('%s', (_, mix) => {
    const result = simulate({ mix: { ...mix, durationMs: 200_000 }, seed: 1 })
    expect(result.violations, result.trace).toBe(0)
    expect(result.refused + result.untrustworthy).toBeGreaterThan(0)
  })
})
