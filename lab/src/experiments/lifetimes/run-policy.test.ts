import { describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { type Policy, runPolicy } from './run-policy.js'
import { createWorkload, DAY } from './workload.js'

const workload = createWorkload({ keys: 200, readsPerSecond: 0.2 }, createRandom(7))
const fixed = (lifetimeMs: number): Policy => ({ kind: 'fixed', lifetimeMs })
const learnt: Policy = { kind: 'learnt', minMs: 1000, maxMs: DAY }
const long = fixed(DAY)
const results = new Map<Policy, ReturnType<typeof runPolicy>>()

/** Runs each policy once, for all tests. */
function resultOf(policy: Policy): ReturnType<typeof runPolicy> {
  const result = results.get(policy) ?? runPolicy(workload, policy)
  results.set(policy, result)
  return result
}

describe('a policy of lifetimes, run over the workload', () => {
  it.each([fixed(60_000), long, learnt])(
    'sorts every read into one kind, and none in a session is stale: %j',
    policy => {
      const { reads, hits, stale, inVain, needed, staleForSessions } = resultOf(policy)
      const counted = workload.events.filter(({ kind, timeMs }) => kind !== 'write' && timeMs >= workload.countedFromMs)
      expect(reads).toBe(counted.length)
      expect(hits + stale + inVain + needed).toBe(reads)
      expect(staleForSessions).toBe(0)
    },
  )

  it('makes sessions fail if the window does not cover its lifetimes', () => {
    expect(() => runPolicy(workload, learnt, 60_000)).toThrow(/The session refused/)
  })

  it('has fewer outdated copies if it learns, and the same sketch as with the longest lifetime for all keys', () => {
    const [kept, learning] = [resultOf(long), resultOf(learnt)]
    expect(learning.stale).toBeLessThan(kept.stale / 3)
    expect(learning.sketchBytes).toBe(kept.sketchBytes)
  })

  it('gives the same result twice', () => {
    expect(runPolicy(workload, learnt)).toEqual(resultOf(learnt))
  })
})

describe('the workload', () => {
  it('has keys written every few seconds, and most not at all', () => {
    const writes = new Map<number, number>()
    for (const { kind, key } of workload.events) if (kind === 'write') writes.set(key, (writes.get(key) ?? 0) + 1)
    expect(Math.max(...writes.values())).toBeGreaterThan((2 * DAY) / 120_000 / 2)
    expect(writes.size).toBeLessThan(workload.keys.length / 3)
  })
})
