import { createRandom } from '@freshet/core/store/conformance'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Arrivals } from './arrivals.js'
import { Gossip } from './gossip.js'

const EVERY_MS = 1000
const OPTIONS = { everyMs: EVERY_MS, phiMax: 8, forgetMs: 120_000 }

/** Each member gossips with another one in each round; messages and answers can be lost. */
class Rounds {
  readonly members = new Map<string, Gossip>()
  readonly #random: () => number
  readonly #lossRate: number
  isCut: (from: string, to: string) => boolean = () => false
  nowMs = 0

  constructor(size: number, seed: number, lossRate: number) {
    this.#random = createRandom(seed).next
    this.#lossRate = lossRate
    for (let i = 0; i < size; i++) this.join(`p${i}`)
  }

  join(name: string): void {
    const gossip = new Gossip(name, OPTIONS)
    // All members know the first one, which knows none.
    if (this.members.size > 0) gossip.meet('p0', this.nowMs)
    this.members.set(name, gossip)
  }

  run(rounds: number): void {
    for (let i = 0; i < rounds; i++) {
      this.nowMs += EVERY_MS
      for (const [name, gossip] of this.members) this.#talk(name, gossip)
    }
  }

  suspicions(): string[] {
    return [...this.members].flatMap(([name, gossip]) =>
      gossip.members(this.nowMs).flatMap(member => (member.isSuspected ? [`${name} ${member.name}`] : [])),
    )
  }

  #talk(name: string, gossip: Gossip): void {
    const next = gossip.tick(this.nowMs, this.#random())
    const other = next && this.members.get(next.to)
    const isLost = () => this.#random() < this.#lossRate
    if (next === undefined || other === undefined || this.isCut(name, next.to) || isLost()) return
    const answer = other.beats()
    other.receive(next.beats, this.nowMs)
    if (!isLost()) gossip.receive(answer, this.nowMs)
  }
}

describe('gossip', () => {
  const cases = [fc.integer({ min: 2, max: 16 }), fc.integer(), fc.constantFrom(0, 0.1, 0.25)] as const

  it('makes all members known to each other, and suspects none that is up', () => {
    fc.assert(
      fc.property(...cases, (size, seed, lossRate) => {
        const rounds = new Rounds(size, seed, lossRate)
        rounds.run(60)
        for (const gossip of rounds.members.values()) expect(gossip.members(rounds.nowMs).length).toBe(size - 1)
        for (let i = 0; i < 60; i++) {
          rounds.run(1)
          expect(rounds.suspicions()).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
  })

  it('makes every member suspect one that has gone, then forget it, and none brings it back', () => {
    fc.assert(
      fc.property(...cases, (size, seed, lossRate) => {
        const rounds = new Rounds(size, seed, lossRate)
        rounds.run(60)
        const gone = `p${size - 1}`
        rounds.members.delete(gone)
        rounds.run(80)
        const suspicious = rounds.suspicions()
        expect(suspicious.sort()).toEqual([...rounds.members.keys()].map(name => `${name} ${gone}`).sort())
        rounds.run(200)
        for (const gossip of rounds.members.values()) {
          expect(gossip.members(rounds.nowMs).some(({ name }) => name === gone)).toBe(false)
          expect(gossip.isSuspected(gone, rounds.nowMs)).toBe(true)
        }
      }),
      { numRuns: 60 },
    )
  })

  it('trusts the members on the other side of a partition again when it heals', () => {
    const rounds = new Rounds(8, 7, 0.1)
    rounds.run(60)
    const side = (name: string) => Number(name.slice(1)) < 4
    rounds.isCut = (from, to) => side(from) !== side(to)
    rounds.run(80)
    expect(rounds.suspicions().length).toBe(2 * 4 * 4)
    rounds.isCut = () => false
    rounds.run(20)
    expect(rounds.suspicions()).toEqual([])
  })
})

describe('phi', () => {
  it('grows with silence, faster for a peer that was heard from more often', () => {
    const [often, seldom] = [new Arrivals(100), new Arrivals(100)]
    for (let i = 1; i <= 50; i++) {
      often.arrived(i * 100)
      seldom.arrived(i * 1000)
    }
    expect(often.phi(5000 + 3000)).toBeGreaterThan(8)
    expect(seldom.phi(50_000 + 3000)).toBeLessThan(2)
    expect(seldom.phi(50_000 + 30_000)).toBeGreaterThan(8)
  })

  it('is 0 for a peer that was never heard from', () => {
    expect(new Arrivals(100).phi(1e9)).toBe(0)
  })
})
