/** The work in each contender's process: a store with counters, and in each round the time of additions to them. */
import type { Commit, Operation } from '@freshet/core/store'
import { type EmbeddedStore, openEmbeddedStore } from '@freshet/engines/lmdb'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { createRandom, type Random } from '../../harness/random.js'

export const NO_IDS = 'without ids'
export const OWN_IDS = "our clients' ids"
export const FOREIGN_IDS = 'foreign ids'

/**
 * Nanoseconds per addition. `spread`: to many counters; `processor`: the processor time of that; `hot`: to one counter;
 * `alone`: to one counter, each with its own commit and flush.
 */
export type Measure = 'spread' | 'processor' | 'hot' | 'alone'

export interface CountersSettings {
  readonly ids: string
  readonly path: string
  readonly counters: number
  readonly clients: number
  readonly additions: number
  readonly alone: number
  readonly seed: number
}

interface Client {
  readonly name: string
  sequence: number
}

export function createCountersWorker(): ContenderWorker<CountersSettings, null, Measure> {
  let runRound: (() => Promise<Record<Measure, number>>) | undefined
  return {
    async prepare(settings) {
      const store = await openEmbeddedStore({ path: settings.path })
      const random = createRandom(settings.seed)
      const clients = Array.from({ length: settings.clients }, (_, i) => ({
        name: `client-of-bench-${i}`,
        sequence: 0,
      }))
      const makers: Readonly<Record<string, (client: Client) => Operation | undefined>> = {
        [NO_IDS]: () => undefined,
        [OWN_IDS]: client => ownOperation(client, store.nowMs()),
        [FOREIGN_IDS]: client => foreignOperation(client, random),
      }
      const make = makers[settings.ids]!
      runRound = () => measure({ ...settings, store, clients, random, make })
      return null
    },
    async round() {
      if (!runRound) throw new TypeError('The worker was not prepared.')
      return runRound()
    },
  }
}

interface Setup extends Omit<CountersSettings, 'clients'> {
  readonly store: EmbeddedStore
  readonly clients: readonly Client[]
  readonly random: Random
  make(client: Client): Operation | undefined
}

async function measure(setup: Setup): Promise<Record<Measure, number>> {
  const { counters, additions, alone, clients, random } = setup
  const spread = await time(setup, clients, additions, () => random.below(counters))
  const hot = await time(setup, clients, additions, () => 0)
  const single = await time(setup, clients.slice(0, 1), alone, () => 0)
  return { spread: spread.wallNs, processor: spread.processorNs, hot: hot.wallNs, alone: single.wallNs }
}

/** Each client has one request under way. Requests are built beforehand: that is the clients' work, not the store's. */
async function time({ store, make }: Setup, clients: readonly Client[], additions: number, counter: () => number) {
  const each = Math.ceil(additions / clients.length)
  const commits = clients.map(client => Array.from({ length: each }, () => toCommit(counter(), make(client))))
  const before = process.cpuUsage()
  const startMs = performance.now()
  await Promise.all(commits.map(mine => commitAll(store, mine)))
  const count = each * clients.length
  const wallNs = ((performance.now() - startMs) * 1e6) / count
  const { user, system } = process.cpuUsage(before)
  return { wallNs, processorNs: ((user + system) * 1e3) / count }
}

async function commitAll(store: EmbeddedStore, commits: readonly Commit[]): Promise<void> {
  for (const commit of commits) {
    const result = await store.commit(commit)
    if (!result.committed || result.replayed) throw new Error(`The store did not add: ${JSON.stringify(result)}`)
  }
}

function toCommit(counter: number, operation: Operation | undefined): Commit {
  const adds = [{ key: `bench/counters/${counter}`, by: 1, decimals: 0 }]
  return operation === undefined ? { writes: [], adds } : { writes: [], adds, operation }
}

function ownOperation(client: Client, nowMs: number): Operation {
  const sequence = ++client.sequence
  const madeMs = Math.floor(nowMs)
  const id = { kind: 'own', client: client.name, sequence, settledTo: sequence - 1, madeMs } as const
  return { id, fingerprint: 'abcdefghijkl', note: '0' }
}

function foreignOperation(client: Client, random: Random): Operation {
  const id = `${random.uint32().toString(36)}-${client.name}-${++client.sequence}`
  return { id: { kind: 'foreign', id }, fingerprint: 'abcdefghijkl', note: '0' }
}
