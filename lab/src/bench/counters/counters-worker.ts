/** What happens in each contender's process: a store with counters, and for each round the time of additions to them. */
import type { Operation } from '@freshet/core/store'
import { type EmbeddedStore, openEmbeddedStore } from '@freshet/stores/embedded'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { createRandom, type Random } from '../../harness/random.js'

export const NO_IDS = 'without ids'
export const OWN_IDS = "our clients' ids"
export const FOREIGN_IDS = 'foreign ids'

/**
 * Nanoseconds for each addition. `spread`: to many counters; `processor`: the processor time of that; `hot`: to one;
 * `alone`: to one, each with a commit and a flush of its own.
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

type Made = Pick<Operation, 'id'> | undefined

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
      const makers: Readonly<Record<string, (client: Client) => Made>> = {
        [NO_IDS]: () => undefined,
        [OWN_IDS]: client => ownId(client, store.nowMs()),
        [FOREIGN_IDS]: client => foreignId(client, random),
      }
      const make = makers[settings.ids]!
      const add = (client: Client, counter: number) => addTo(store, counter, make(client))
      runRound = () => measure(settings, clients, random, add)
      return null
    },
    async round() {
      if (!runRound) throw new TypeError('The worker was not prepared.')
      return runRound()
    },
  }
}

type Add = (client: Client, counter: number) => Promise<void>

async function measure(
  { counters, additions, alone }: CountersSettings,
  clients: readonly Client[],
  random: Random,
  add: Add,
): Promise<Record<Measure, number>> {
  const spread = await time(additions, clients, client => add(client, random.below(counters)))
  const hot = await time(additions, clients, client => add(client, 0))
  const single = await time(alone, clients.slice(0, 1), client => add(client, 0))
  return { spread: spread.wallNs, processor: spread.processorNs, hot: hot.wallNs, alone: single.wallNs }
}

/** Each client has one under way. */
async function time(additions: number, clients: readonly Client[], add: (client: Client) => Promise<void>) {
  let left = additions
  const before = process.cpuUsage()
  const startMs = performance.now()
  const work = async (client: Client) => {
    while (left-- > 0) await add(client)
  }
  await Promise.all(clients.map(work))
  const wallNs = ((performance.now() - startMs) * 1e6) / additions
  const { user, system } = process.cpuUsage(before)
  return { wallNs, processorNs: ((user + system) * 1e3) / additions }
}

async function addTo(store: EmbeddedStore, counter: number, made: Made): Promise<void> {
  const adds = [{ key: `bench/counters/${counter}`, by: 1, decimals: 0 }]
  const operation = made && { ...made, fingerprint: 'abcdefghijklmnopqrstuv', note: '0' }
  const result = await store.commit({ writes: [], adds, ...(operation && { operation }) })
  if (!result.committed || result.replayed) throw new Error(`Nothing was added: ${JSON.stringify(result)}`)
}

function ownId(client: Client, nowMs: number): Made {
  const sequence = ++client.sequence
  const madeMs = Math.floor(nowMs)
  return { id: { kind: 'own', client: client.name, sequence, settledTo: sequence - 1, madeMs } }
}

function foreignId(client: Client, random: Random): Made {
  return { id: { kind: 'foreign', id: `${random.uint32().toString(36)}-${client.name}-${++client.sequence}` } }
}
