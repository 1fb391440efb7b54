import { describe, expect, test } from 'vitest'
import { type Peer, positionOfKey, positionOfPeer } from './ring.js'
import { SmallRing } from './under-test/small-ring.js'

/** Every peer finds the right peer for many positions. */
function expectRight(ring: SmallRing): void {
  for (const peer of ring.peers) {
    for (let i = 0; i < 20; i++) {
      const [owner] = ring.ask<readonly Peer[]>(then =>
        ring.at(peer).chord.lookUp(positionOfKey(`key ${i}`, 0), ring.nowMs, {}, then),
      )
      expect(owner).toBe(ring.responsibleFor(`key ${i}`, 0))
    }
  }
}

/** Every peer knows its true neighbours. */
function expectRing(ring: SmallRing): void {
  const sorted = ring.peers.sort((a, b) => positionOfPeer(a) - positionOfPeer(b))
  sorted.forEach((peer, i) => {
    const { predecessor, successors } = ring.at(peer).chord.tables
    expect(predecessor).toBe(sorted.at(i - 1))
    expect(successors[0]).toBe(sorted[(i + 1) % sorted.length])
  })
}

describe('a ring', () => {
  test('forms from peers that join one by one, and every look-up ends at the right peer', () => {
    const ring = SmallRing.grown(24)
    expectRing(ring)
    expectRight(ring)
  })

  test('needs few questions for a look-up: about half the logarithm of its size', () => {
    const ring = SmallRing.grown(40)
    ring.run(10_000)
    const meter = { messages: 0 }
    for (let i = 0; i < 100; i++) {
      ring.ask(then => ring.at(1 + (i % 40)).chord.lookUp(positionOfKey(`key ${i}`, 0), ring.nowMs, { meter }, then))
    }
    expect(meter.messages / 2 / 100).toBeLessThan(Math.log2(40) / 2 + 1)
  })

  test('closes behind a peer that leaves, at once', () => {
    const ring = SmallRing.grown(12)
    ring.leave(5)
    ring.leave(9)
    expectRight(ring)
  })

  test('closes around peers that fail together', () => {
    const ring = SmallRing.grown(16)
    for (const peer of [3, 4, 11]) ring.crash(peer)
    ring.run(3000)
    expectRing(ring)
    expectRight(ring)
  })

  test('that was torn apart becomes one again through known members', () => {
    const voting = { promiseMs: 500, driftMax: 0.01 }
    const ring = SmallRing.grown(8, { voting })
    ring.split([1, 2, 3])
    ring.run(5000)
    expect(ring.at(1).chord.tables.successors.every(peer => peer <= 3)).toBe(true)
    ring.heal()
    ring.run(8000)
    expectRing(ring)
    expectRight(ring)
  })
})
