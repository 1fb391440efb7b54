/**
 * The memory needed to remember operations, per operation: with ids as our clients make them, with foreign ids, and with what
 * other systems do with foreign ids: keep them in a Map, or in Redis with SET NX EX.
 *
 * Our clients report which operations they have settled, so only a window per client remains of its operations. A foreign
 * id has to be kept: in a filter in memory that says which ids are surely new, and with the first answer on disk.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Operation } from '@freshet/core/store'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { isRedisInstalled, RedisConnection, startRedis } from '../engines/redis.js'
import type { BarsChart } from '../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../harness/experiment.js'
import type { Random } from '../harness/random.js'

const FULL = { operations: 1_000_000, clients: 1000 }
/** As many operations per client as in the full run. */
const QUICK = { operations: 50_000, clients: 50 }
const PIPELINED = 2000
const COUNTERS = 1000
const OWN_BITS_MAX = 4
/** The journal of the embedded store: negligible beside a million operations. */
const JOURNAL_BYTES_MAX = 64 * 1024
const RETENTION_S = 86_400

interface Memory {
  readonly name: string
  /** Bits per operation. */
  readonly inMemory: number
  readonly onDisk: number
}

export const operationsMemory: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, section 1: keeping every id is unaffordable',
  async run(context) {
    const { operations, clients } = context.quick ? QUICK : FULL
    const idOf = foreignIds(context.random)
    const rows = [
      await ofStore("our clients' ids, one under way", operations, context, 0, i => ownOperation(i, clients, 1)),
      await ofStore("our clients' ids, two under way", operations, context, 0, i => ownOperation(i, clients, 2)),
      await ofStore('foreign ids', operations, context, 1, i => ({ id: { kind: 'foreign', id: idOf(i) } })),
      ofMap(operations, idOf),
      ...(isRedisInstalled() ? [await ofRedis(operations, context, idOf)] : []),
    ]
    return toResult(rows, operations, clients)
  },
}

/** Like UUIDs: 32 hexadecimal digits. */
function foreignIds(random: Random): (i: number) => string {
  const start = random.fork('ids').uint32()
  return i => {
    const digits = (seed: number) => (Math.imul(start + i, seed) >>> 0).toString(16).padStart(8, '0')
    return `${i.toString(16).padStart(8, '0')}-${digits(0x9e3779b1)}-${digits(0x85ebca6b)}-${digits(0xc2b2ae35)}`
  }
}

/** Each client has at most this many operations under way: when it begins another, the first of them is settled. */
function ownOperation(i: number, clients: number, underWay: number): Pick<Operation, 'id'> {
  const sequence = Math.floor(i / clients) + 1
  const client = `client-of-the-lab-${i % clients}`
  return { id: { kind: 'own', client, sequence, settledTo: Math.max(0, sequence - underWay), madeMs: 0 } }
}

async function ofStore(
  name: string,
  operations: number,
  { quick, progress }: ExperimentContext,
  turn: number,
  operationOf: (i: number) => Pick<Operation, 'id'>,
): Promise<Memory> {
  const path = await mkdtemp(join(tmpdir(), 'freshet-operations-memory-'))
  const store = await openEmbeddedStore({ path, durability: 'relaxed' })
  const together = (quick ? QUICK : FULL).clients
  try {
    for (let first = 0; first < operations; first += together) {
      progress(turn * operations + first, 3 * operations, name)
      const numbers = Array.from({ length: Math.min(together, operations - first) }, (_, i) => first + i)
      const commits = numbers.map(i => {
        const operation = { ...operationOf(i), fingerprint: 'abcdefghijkl', note: '0' }
        return store.commit({
          writes: [],
          adds: [{ key: `lab/counters/${i % COUNTERS}`, by: 1, decimals: 0 }],
          operation,
        })
      })
      for (const result of await Promise.all(commits)) {
        if (!result.committed || result.replayed) throw new Error(`Not done: ${JSON.stringify(result)}`)
      }
    }
    const { memoryBytes, diskBytes } = await store.operationCounts()
    return { name, inMemory: (8 * memoryBytes) / operations, onDisk: (8 * diskBytes) / operations }
  } finally {
    await store.close()
    await rm(path, { recursive: true, force: true })
  }
}

/** The ids alone, with their times of arrival. */
function ofMap(operations: number, idOf: (i: number) => string): Memory {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  const seen = new Map<string, number>()
  // Read from a buffer, as from a request: a concatenated string would keep its parts.
  for (let i = 0; i < operations; i++) seen.set(Buffer.from(idOf(i)).toString('latin1'), i)
  collect()
  const bytes = process.memoryUsage().heapUsed - before
  if (seen.size !== operations) throw new Error('Two ids are the same.')
  return { name: 'a Map of ids, no answers', inMemory: (8 * bytes) / operations, onDisk: 0 }
}

async function ofRedis(
  operations: number,
  { progress }: ExperimentContext,
  idOf: (i: number) => string,
): Promise<Memory> {
  const redis = await startRedis({ isDurable: false })
  const connection = await RedisConnection.open(redis.port)
  const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await connection.command('INFO', 'memory'))![1])
  try {
    const before = await usedBytes()
    for (let first = 0; first < operations; first += PIPELINED) {
      progress(2 * operations + first, 3 * operations, 'Redis')
      const numbers = Array.from({ length: Math.min(PIPELINED, operations - first) }, (_, i) => first + i)
      await Promise.all(numbers.map(i => connection.command('SET', idOf(i), '1', 'NX', 'EX', `${RETENTION_S}`)))
    }
    return {
      name: 'Redis, SET NX EX, no answers',
      inMemory: (8 * ((await usedBytes()) - before)) / operations,
      onDisk: 0,
    }
  } finally {
    connection.close()
    await redis.stop()
  }
}

function toResult(rows: readonly Memory[], operations: number, clients: number): ExperimentResult {
  const [own, ownTwo, foreign, map, redis] = rows as [Memory, Memory, Memory, Memory, Memory | undefined]
  const [ownBits, ownTwoBits] = [own, ownTwo].map(({ inMemory, onDisk }) => inMemory + onDisk) as [number, number]
  return {
    summary: {
      ...{ operations, clients, ownBits, ownTwoBits },
      foreignMemoryBits: foreign.inMemory,
      foreignDiskBytes: foreign.onDisk / 8,
      mapBytes: map.inMemory / 8,
      redisBytes: redis && redis.inMemory / 8,
    },
    points: rows,
    tables: [
      {
        title: `Per operation, with ${operations} operations of ${clients} clients`,
        columns: ['remembered as', 'bits in memory', 'bytes in memory', 'bytes on disk'],
        rows: rows.map(row => [row.name, ...[row.inMemory, row.inMemory / 8, row.onDisk / 8].map(rounded)]),
      },
    ],
    plots: [{ name: 'bytes-by-kind', chart: toChart(rows) }],
    verdicts: [
      {
        claim:
          `our clients' ids take at most ${OWN_BITS_MAX} bits per operation, memory and disk together, ` +
          'plus a journal of at most 64 KiB in all',
        holds: ownBits <= OWN_BITS_MAX + (8 * JOURNAL_BYTES_MAX) / operations,
        detail: `${ownBits.toFixed(2)} bits; ${ownTwoBits.toFixed(2)} if each client has two operations under way`,
      },
      {
        claim: 'foreign ids take at most a tenth of the memory of a Map',
        holds: foreign.inMemory <= map.inMemory / 10,
        detail: `${foreign.inMemory.toFixed(1)} bits against ${map.inMemory.toFixed(0)}`,
      },
    ],
  }
}

function toChart(rows: readonly Memory[]): BarsChart {
  return {
    kind: 'bars',
    title: 'Bytes per remembered operation',
    subtitle: 'ours with their first answers, which are on disk',
    y: { name: 'bytes' },
    categories: rows.map(row => row.name),
    series: [
      { name: 'in memory', values: rows.map(row => rounded(row.inMemory / 8)) },
      { name: 'on disk', values: rows.map(row => rounded(row.onDisk / 8)) },
    ],
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
