/** The conformance of a store that several servers may have open at once: with one server, and with two. */
import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { type ConformanceOptions, testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { WALK_SIZE } from './walk-size.js'

/** Begins a new store; the returned function opens it, as often as it is called. */
export type BeginStore = () => () => Promise<Store>

type Kit = ConformanceOptions['kit']

const kit: Kit = { describe, test, expect, nextTurn: setImmediate }

/**
 * The parts of the suite whose result may depend on whether there is another server; the rest runs with a second server that
 * is open and idle. They are also enough for a combination of engines that have each passed the whole suite: the random walks
 * make every kind of request.
 */
const ESSENTIAL: readonly string[] = [
  'commits at the same time',
  'operations',
  'queries',
  'closing and opening',
  'anything, in any order',
]

export interface FleetTestOptions {
  /** A single server runs the whole suite, not only the essential parts. */
  readonly isWholeAlone?: boolean
  /** How many buckets of random objects two servers query. Some mistakes show in only one of thirty. */
  readonly queryBuckets?: number
}

/** Declares only the essential parts of the suite. */
export function essentialKit(): Kit {
  return { ...kit, describe: (name, body) => ESSENTIAL.includes(name) && describe(name, body) }
}

export function testFleetStore(begin: BeginStore, { isWholeAlone = false, queryBuckets }: FleetTestOptions = {}): void {
  describe('alone', () => testAlone(begin, isWholeAlone ? kit : essentialKit()))
  describe('with another server', () => testWithPeer(begin, { seed: 2, queryBuckets }))
}

function testAlone(begin: BeginStore, ownKit: Kit): void {
  testStore({
    kit: ownKit,
    async open() {
      const open = begin()
      let store = await open()
      return {
        store,
        async reopen() {
          await store.close()
          store = await open()
          return store
        },
        dispose: () => store.close(),
      }
    },
    ...WALK_SIZE,
  })
}

export function testWithPeer(
  begin: BeginStore,
  {
    seed,
    queryBuckets = 4 * WALK_SIZE.queryBuckets,
  }: { readonly seed: number; readonly queryBuckets?: number | undefined },
): void {
  testStore({
    kit,
    async open() {
      const open = begin()
      // At the same time, as when a fleet starts.
      let [store, peer] = await Promise.all([open(), open()])
      const close = () => Promise.all([peer.close(), store.close()])
      return {
        store,
        peer,
        async reopen() {
          await close()
          store = await open()
          return store
        },
        async dispose() {
          await close()
        },
      }
    },
    seed,
    steps: WALK_SIZE.steps,
    queryBuckets,
  })
}
