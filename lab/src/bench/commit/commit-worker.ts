/** The work in each contender's process: a store filled with entries, and in each round the time of its commits. */
import { join } from 'node:path'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { ClassicLevel } from 'classic-level'
import { open } from 'lmdb'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { createRandom, type Random } from '../../harness/random.js'
import type { Readings } from '../../harness/side-by-side.js'
import { setTwice } from '../checksum-hooks.js'

export const OURS = 'freshet'
/** The contender in a process that can compute its checksums twice (`../checksum-hooks.ts`). */
export const HOOKED = 'freshet, hooked'
export const BARE_ENGINE = 'lmdb'
export const LEVEL = 'classic-level'

const VALUE_BYTES = 500

/** The number of initial objects, and the commits to them in each round. */
export interface CommitLoad {
  readonly path: string
  readonly entries: number
  readonly commitsPerRound: number
  readonly inFlight: number
  readonly seed: number
}

export interface CommitSettings extends CommitLoad {
  readonly contender: string
}

/** Resolves when the value is on disk. */
type Put = (key: string, value: Buffer) => Promise<unknown>

const openers: Readonly<Record<string, (path: string) => Promise<Put>>> = {
  [OURS]: openOurs,
  [HOOKED]: openOurs,
  async [BARE_ENGINE](path) {
    const database = open<Buffer, string>({ path: join(path, 'data.mdb'), encoding: 'binary', mapSize: 2 ** 36 })
    return (key, value) => database.put(key, value)
  },
  async [LEVEL](path) {
    const database = new ClassicLevel<string, Buffer>(path, { valueEncoding: 'buffer' })
    await database.open()
    return groupsOf(operations => database.batch(operations, { sync: true }))
  },
}

async function openOurs(path: string): Promise<Put> {
  const store = await openEmbeddedStore({ path })
  return (key, body) => store.commit({ writes: [{ key, contentType: 'application/json', body }] })
}

interface Operation {
  readonly type: 'put'
  readonly key: string
  readonly value: Buffer
}

/** LevelDB flushes once per batch, so everything that arrives during a flush goes into the next batch. */
function groupsOf(write: (operations: Operation[]) => Promise<void>): Put {
  let waiting: Operation[] = []
  let next: Promise<void> | undefined
  let running: Promise<void> = Promise.resolve()
  return (key, value) => {
    waiting.push({ type: 'put', key, value })
    next ??= running.then(() => {
      const operations = waiting
      waiting = []
      next = undefined
      running = write(operations)
      return running
    })
    return next
  }
}

/** Wall-clock time, and the processor time of all threads, since commits mostly wait for the disk. */
export const MEASURES = ['commit', 'cpu', 'cpuTwice'] as const
export type Measure = (typeof MEASURES)[number]

export function createCommitWorker(): ContenderWorker<CommitSettings, null, Measure> {
  let runRound: (() => Promise<Readings<Measure>>) | undefined
  return {
    async prepare(settings) {
      const put = await openers[settings.contender]!(settings.path)
      const random = createRandom(settings.seed)
      const keys = Array.from({ length: settings.entries }, (_, i) => `shop/products/${i}-${random.uint32()}`)
      await putAll(put, keys, settings.inFlight * 16, random)
      runRound = () => measureRound(put, keys, settings, random)
      return null
    },
    async round() {
      if (!runRound) throw new TypeError('The worker was not prepared.')
      return runRound()
    },
  }
}

async function measureRound(
  put: Put,
  keys: readonly string[],
  settings: CommitSettings,
  random: Random,
): Promise<Readings<Measure>> {
  const measure = async () => {
    const chosen = Array.from({ length: settings.commitsPerRound }, () => random.pick(keys))
    const startMs = performance.now()
    const before = process.cpuUsage()
    await putAll(put, chosen, settings.inFlight, random)
    const { user, system } = process.cpuUsage(before)
    return {
      clock: ((performance.now() - startMs) * 1e6) / chosen.length,
      cpu: ((user + system) * 1e3) / chosen.length,
    }
  }
  const once = await measure()
  if (settings.contender !== HOOKED) return { commit: once.clock, cpu: once.cpu, cpuTwice: once.cpu }
  setTwice(true)
  const twice = await measure()
  setTwice(false)
  return { commit: once.clock, cpu: once.cpu, cpuTwice: twice.cpu }
}

/** Keeps `inFlight` operations in flight until all are done. */
async function putAll(put: Put, keys: readonly string[], inFlight: number, random: Random): Promise<void> {
  const value = Buffer.from(random.bytes(VALUE_BYTES))
  let next = 0
  const work = async () => {
    while (next < keys.length) await put(keys[next++]!, Buffer.from(value))
  }
  await Promise.all(Array.from({ length: inFlight }, work))
}
