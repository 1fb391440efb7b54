/** Looks up random keys that were never added, and adds them: the benchmark of the thesis (3.7.1.4), in each variant. */
import { randomUUID } from 'node:crypto'
import { createBloom, keyIndexes } from '@freshet/bloom'
import { openRedisFilter, openWindowedRedisFilter } from '@freshet/engines/redis-filter'
import { createClient } from '@redis/client'
import type { ContenderWorker } from '../../harness/contender-worker.js'

export type FilterWay = 'a round trip for each bit' | 'ours' | 'ours, of a window'

export interface RedisFilterSettings {
  readonly way: FilterWay
  readonly url: string
  /** Keys in a round. */
  readonly keys: number
  readonly inFlight: number
  /** The number of keys in one call; 1: each in a call of its own. */
  readonly perCall: number
}

/** The thesis's size; it then adds 30,000 keys. Here half of those are present from the start: its filter's average fill. */
export const SIZE = { bits: 100_000, hashes: 10 }
const THERE = 15_000
const HOUR_MS = 3_600_000

const OPEN: Readonly<Record<FilterWay, (url: string, name: string) => Promise<Opened>>> = {
  'a round trip for each bit': openBitByBit,
  async ours(url, name) {
    const filter = await openRedisFilter({ url, name, ...SIZE })
    return { addAll: filter.addAll.bind(filter), add: filter.add.bind(filter), close: () => filter.close() }
  },
  async 'ours, of a window'(url, name) {
    const entriesMax = 2 * THERE
    const filter = await openWindowedRedisFilter({
      url,
      name,
      windowMs: HOUR_MS,
      entriesMax,
      falsePositiveRateMax: 0.1,
    })
    return { addAll: filter.addAll.bind(filter), add: filter.add.bind(filter), close: () => filter.close() }
  },
}

interface Opened {
  addAll(keys: readonly string[]): Promise<unknown>
  add(key: string): Promise<boolean>
  close(): Promise<void>
}

export function createRedisFilterWorker(): ContenderWorker<RedisFilterSettings, null, 'key'> {
  let settings: RedisFilterSettings | undefined
  return {
    async prepare(given) {
      settings = given
      return null
    },
    async round() {
      if (!settings) throw new TypeError('The worker was not prepared.')
      const filter = await OPEN[settings.way](settings.url, randomUUID())
      await filter.addAll(Array.from({ length: THERE }, () => randomUUID()))
      const nsPerKey = await time(filter, settings)
      await filter.close()
      return { key: nsPerKey }
    },
  }
}

async function time({ add, addAll }: Opened, { keys, inFlight, perCall }: RedisFilterSettings): Promise<number> {
  const all = Array.from({ length: keys }, () => randomUUID())
  let next = 0
  const lane = async () => {
    while (next < keys) {
      const from = next
      next += perCall
      await (perCall === 1 ? add(all[from]!) : addAll(all.slice(from, from + perCall)))
    }
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: inFlight }, lane))
  return ((performance.now() - startMs) * 1e6) / keys
}

/** As simple libraries do it: GETBIT until one is not set, then SETBIT for each. */
async function openBitByBit(url: string, name: string): Promise<Opened> {
  const client = createClient({ url, RESP: 2, commandOptions: { timeout: 0 } })
  await client.connect()
  const add = async (key: string) => {
    const places = [...keyIndexes(key, SIZE)].map(String)
    let isNew = false
    for (const place of places) {
      isNew = (await client.sendCommand(['GETBIT', name, place])) !== (1 as unknown)
      if (isNew) break
    }
    for (const place of places) await client.sendCommand(['SETBIT', name, place, '1'])
    return isNew
  }
  const addAll = async (keys: readonly string[]) => {
    const bloom = createBloom(SIZE)
    bloom.addAll(keys)
    await client.sendCommand(['SET', name, Buffer.from(new Uint8Array(bloom.words.buffer).map(reversed))])
  }
  return { add, addAll, close: () => client.close() }
}

/** Redis counts the bits of a byte from its highest. */
function reversed(byte: number): number {
  let mirrored = 0
  for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) mirrored |= 128 >> bit
  return mirrored
}
