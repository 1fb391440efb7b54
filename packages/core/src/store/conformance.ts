/**
 * Checks a store against every sentence of its contract (`store.ts`). Each adapter's test calls this, and a third-party
 * adapter can call it too; the test runner is passed in.
 *
 *     testStore({ kit: { describe, test, expect, nextTurn }, open: async () => ({ store: await openMyStore(), dispose }) })
 *
 * If a store can also be opened a second way, from another process or over a channel, pass that as `peer`: then each is
 * asked for what the other was given.
 */
import { testClockAndMemory } from './conformance/clock-and-memory.js'
import { testCommits } from './conformance/commits.js'
import { testConcurrency } from './conformance/concurrency.js'
import type { ConformanceOptions } from './conformance/kit.js'
import { testLifecycle } from './conformance/lifecycle.js'
import { testLists } from './conformance/lists.js'
import { testLog } from './conformance/log.js'
import { testMalformedCommits } from './conformance/malformed-commits.js'
import { testCounters, testOperations } from './conformance/operations.js'
import { testQueries } from './conformance/queries.js'
import { testRandomWalk } from './conformance/random-walk.js'
import { testScans } from './conformance/scans.js'

export type { ConformanceOptions } from './conformance/kit.js'
export { createRandom, type Random } from './conformance/random.js'

export function testStore(options: ConformanceOptions): void {
  const { describe } = options.kit
  describe('commits', () => testCommits(options))
  describe('malformed commits', () => testMalformedCommits(options))
  describe('commits at the same time', () => testConcurrency(options))
  describe('commits that rely on lists', () => testLists(options))
  describe('counters', () => testCounters(options))
  describe('operations', () => testOperations(options))
  describe('scans', () => testScans(options))
  describe('queries', () => testQueries(options))
  describe('the log', () => testLog(options))
  describe('the clock and the memory', () => testClockAndMemory(options))
  describe('closing and opening', () => testLifecycle(options))
  describe('anything, in any order', () => testRandomWalk(options))
}
