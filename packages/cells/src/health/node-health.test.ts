import { describe, expect, it } from 'vitest'
import { NodeHealth } from './node-health.js'

const OPTIONS = { timeoutMsMin: 10, timeoutMsMax: 1000, failuresMax: 3, probeMs: 100, probeMsMax: 400 }

describe('a node', () => {
  it('is waited for as long as its answers have taken, and a little longer', () => {
    const health = new NodeHealth(OPTIONS)
    expect(health.timeoutMs).toBe(1000)
    for (let i = 0; i < 200; i++) health.answered(40)
    expect(health.timeoutMs).toBeGreaterThanOrEqual(40)
    expect(health.timeoutMs).toBeLessThan(60)
    for (let i = 0; i < 200; i++) health.answered(i % 2 === 0 ? 20 : 120)
    expect(health.timeoutMs).toBeGreaterThan(120)
  })

  it('that has become slower for good is waited for longer until it answers in time', () => {
    const health = new NodeHealth(OPTIONS)
    for (let i = 0; i < 200; i++) health.answered(20)
    let tries = 0
    while (health.timeoutMs < 300 && tries < 50) {
      health.failed(0)
      tries++
    }
    expect(tries).toBeLessThan(15)
  })

  it('that has never answered gets a long time-out only after short ones have failed', () => {
    const health = new NodeHealth({ ...OPTIONS, timeoutMsFirst: 300 })
    expect(health.timeoutMs).toBe(300)
    health.failed(0)
    expect(health.timeoutMs).toBe(600)
    health.failed(0)
    expect(health.timeoutMs).toBe(1000)
  })

  it('that is known to be up is trusted, and its time-out stays the same', () => {
    const health = new NodeHealth(OPTIONS)
    for (let i = 0; i < 200; i++) health.answered(20)
    for (let i = 0; i < 3; i++) health.failed(0)
    const { timeoutMs } = health
    health.trusted()
    expect([health.isSuspected, health.timeoutMs]).toEqual([false, timeoutMs])
  })

  it('that does not answer several times in a row is left alone, except for an occasional probe', () => {
    const health = new NodeHealth(OPTIONS)
    for (let i = 0; i < 2; i++) health.failed(0)
    expect(health.isSuspected).toBe(false)
    health.failed(0)
    expect([health.isSuspected, health.mayAsk(99), health.mayAsk(100), health.mayAsk(101)]).toEqual([
      ...[true, false, true, false],
    ])
    // Twice as long each time, up to the longest.
    expect([health.mayAsk(299), health.mayAsk(300), health.mayAsk(699), health.mayAsk(700)]).toEqual([
      ...[false, true, false, true],
    ])
    expect([health.mayAsk(1099), health.mayAsk(1100)]).toEqual([false, true])
    health.answered(5)
    expect([health.isSuspected, health.mayAsk(1101)]).toEqual([false, true])
  })
})
