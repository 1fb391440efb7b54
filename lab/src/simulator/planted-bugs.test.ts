/** A checker that finds nothing proves nothing: here it must find. */
import { describe, expect, it } from 'vitest'
import type { Promised } from './checker.js'
import { type CacheBehaviour, MIXES, type Mix, type PlantedBug } from './mix.js'
import { simulate } from './simulate.js'

const PLANTED: readonly (readonly [PlantedBug, Mix, Promised])[] = [
  ['window too short', MIXES.worst, 'staleness'],
  ['segment dropped', MIXES.worst, 'position'],
  ['listed change dropped', MIXES.worst, 'position'],
  ['sketch lost in a crash', MIXES.worst, 'position'],
  ['store clock follows the wall', MIXES.worst, 'position'],
  ['old state under ?at=', MIXES.worst, 'position'],
  ['floors not kept', MIXES.worst, 'own write'],
  ['gaps in events ignored', MIXES.worst, 'position'],
  ['creation is no change', MIXES.worst, 'position'],
  ['lowering forgets the promise', MIXES.worst, 'position'],
  ['raising forgets the window', MIXES.worst, 'position'],
  ['refusals ignored', MIXES['hidden age'], 'position'],
]

describe('the simulation finds', () => {
  it.each(PLANTED)('%s', (bug, mix, promised) => {
    const result = simulate({ mix, seed: 1, bug, stopsEarly: true })
    expect([...result.violationsBy.keys()]).toContain(promised)
    expect(result.trace).toContain(`seed 1, mix ${mix.name}, planted: ${bug}`)
  })

  it('reads that go back when nothing is kept of what was seen', () => {
    const mix = { ...MIXES.worst, durationMs: MIXES.worst.durationMs / 2 }
    const { violationsBy } = simulate({ mix, seed: 1, bug: 'floors not kept' })
    expect(violationsBy.has('monotonic')).toBe(true)
  })
})

describe('what is not promised does not hold, so that the conditions are needed:', () => {
  const every = (mix: Mix, behaviour: Partial<CacheBehaviour>): Mix => ({
    ...mix,
    browser: { ...mix.browser, ...behaviour },
    forward: mix.forward.map(cache => ({ ...cache, ...behaviour })),
    reverse: mix.reverse.map(cache => ({ ...cache, ...behaviour })),
  })

  it('a row of caches that hide both the age of copies and their position', () => {
    const mix = every(MIXES['hidden age'], { stripsPosition: true })
    expect(simulate({ mix, seed: 1, stopsEarly: true }).violations).toBeGreaterThan(0)
  })

  it('but a slack that covers the lifetimes added by it is enough', () => {
    const mix = every(MIXES['hidden age'], { stripsPosition: true })
    const patient = { ...mix, slackMs: mix.slackMs + 2 * mix.lifetimeMs, durationMs: mix.durationMs / 2 }
    const result = simulate({ mix: patient, seed: 1 })
    expect(result.violations, result.trace).toBe(0)
  })

  it('no slack for caches that serve past expiry', () => {
    const mix = { ...every(MIXES.blind, { graceMs: 30_000 }), slackMs: 0, thinkMs: 300 }
    expect(simulate({ mix, seed: 1, stopsEarly: true }).violations).toBeGreaterThan(0)
  })

  it('a head out of a cache, for what depends on time', () => {
    const mix = { ...MIXES['cached heads'], checksStaleness: true }
    const { violationsBy } = simulate({ mix, seed: 1, stopsEarly: true })
    expect([...violationsBy.keys()]).toEqual(['staleness'])
  })
})
