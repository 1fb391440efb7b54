/**
 * Readers and writers over real shards while the shards and the servers are killed, stalled and restarted. Each reader is one
 * session that queries any server. Beside it, a naive reader queries all shards itself, and combines their answers.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database } from '@freshet/client'
import { createSql } from '@freshet/shards/client'
import { openGlobalLog } from '@freshet/shards/engines'
import { type Connection, createConnection } from 'mariadb'
import type { Random } from '../harness/random.js'
import { SessionHistory, type TruthRow } from './known-truth.js'
import { type SqlFleet, startSqlFleet } from './sql-fleet.js'

export interface TruthOptions {
  readonly results: number
  readonly random: Random
  /** The pause between faults. */
  readonly faultMs: number
  readonly onProgress: (done: number, label: string) => void
}

export interface TruthResult {
  readonly results: number
  readonly inconsistent: number
  readonly backwards: number
  readonly naiveResults: number
  readonly naiveInconsistent: number
  readonly naiveBackwards: number
  readonly writes: number
  /** Acknowledged writes that the log does not have exactly once. */
  readonly wrongWrites: number
  readonly unanswered: number
  readonly faults: Readonly<Record<string, number>>
  readonly refetches: number
  readonly logHolds: number
  readonly seconds: number
}

type Counters = Pick<TruthResult, 'refetches' | 'logHolds'>
const NOTHING: Counters = { refetches: 0, logHolds: 0 }

const SHARDS = 3
const ACCOUNTS_PER_SHARD = 200
const SESSIONS = 16
const WRITERS = 2
const KINDS = 4
const SCHEMA_CHANGES = 3
const WRITE_PAUSE_MS_MAX = 100
/** A naive reader waits for nothing, and must leave the processors to the sessions. */
const NAIVE_PAUSE_MS = 20
const FAULTS = ['shardsKilled', 'shardsHeldUp', 'serversKilled', 'shardsHeldUp', 'logsKilled'] as const

export async function runTruth(options: TruthOptions): Promise<TruthResult> {
  const fleet = await startSqlFleet({
    shards: SHARDS,
    servers: [{ localWrites: false }, { localWrites: false }],
    from: Array.from({ length: SHARDS }, (_, i) => i * ACCOUNTS_PER_SHARD),
    sharded: { accounts: 'id' },
    global: ['rates'],
    fill,
    onStarted: (done, total) => options.onProgress(0, `starting ${done} of ${total}`),
  })
  try {
    return await new TruthRun(fleet, options).run()
  } finally {
    await fleet.stop()
  }
}

async function fill(connection: Connection, shard: number): Promise<void> {
  await connection.query('CREATE TABLE accounts (id INT PRIMARY KEY, kind INT NOT NULL, amount BIGINT NOT NULL)')
  await connection.query('CREATE TABLE rates (kind INT PRIMARY KEY, rate BIGINT NOT NULL)')
  const ids = Array.from({ length: ACCOUNTS_PER_SHARD }, (_, i) => shard * ACCOUNTS_PER_SHARD + i)
  await connection.batch(
    'INSERT INTO accounts VALUES (?, ?, 0)',
    ids.map(id => [id, id % KINDS]),
  )
  await connection.batch(
    'INSERT INTO rates VALUES (?, 0)',
    Array.from({ length: KINDS }, (_, kind) => [kind]),
  )
}

type Numbers = Readonly<Record<string, string | number | null>>

class TruthRun {
  readonly #fleet: SqlFleet
  readonly #options: TruthOptions
  readonly #histories: SessionHistory[] = []
  readonly #naive: SessionHistory[] = []
  readonly #acknowledged: number[] = []
  readonly #faults: Record<string, number> = { shardsKilled: 0, serversKilled: 0, logsKilled: 0, shardsHeldUp: 0 }
  readonly #ended = ending()
  /** The counters of servers that were killed since. */
  readonly #forgotten: Counters[] = []
  #done = 0
  #unanswered = 0
  #schemaChanges = 0
  #isOver = false
  #dbs: readonly Database[] = []

  constructor(fleet: SqlFleet, options: TruthOptions) {
    this.#fleet = fleet
    this.#options = options
  }

  async run(): Promise<TruthResult> {
    const startedMs = performance.now()
    const { random } = this.#options
    this.#dbs = await Promise.all(this.#fleet.servers.map(({ url }) => connect(url, { timeoutMs: 30_000 })))
    const workers = [
      ...Array.from({ length: SESSIONS }, (_, i) => this.#read(random.fork(`reader ${i}`))),
      ...Array.from({ length: 2 }, (_, i) => this.#readNaively(random.fork(`naive ${i}`))),
      ...Array.from({ length: WRITERS }, (_, i) => this.#write(random.fork(`writer ${i}`))),
      this.#disturb(random.fork('faults')),
    ]
    await Promise.all(workers)
    for (const db of this.#dbs) db.close()
    const { writes, wrongWrites, order } = await this.#readLog()
    const pairs = this.#histories.reduce((sum, history) => sum + history.impossiblePairs(order), 0)
    const counters = [...this.#forgotten, ...(await Promise.all(this.#fleet.servers.map(countersOf)))]
    const sum = (of: (each: Counters) => number) => counters.reduce((total, each) => total + of(each), 0)
    return {
      ...sumsOf(this.#histories, pairs),
      ...naiveSums(this.#naive),
      ...{ writes, wrongWrites, unanswered: this.#unanswered, faults: this.#faults },
      ...{ refetches: sum(({ refetches }) => refetches), logHolds: sum(({ logHolds }) => logHolds) },
      seconds: (performance.now() - startedMs) / 1000,
    }
  }

  async #read(random: Random): Promise<void> {
    const history = new SessionHistory()
    this.#histories.push(history)
    let token: string | undefined
    while (!this.#isOver) {
      const session = createSql(random.pick(this.#dbs) as Database, token === undefined ? {} : { token })
      try {
        history.take(await this.#ask(session, random))
        token = session.token
      } catch {
        this.#unanswered++
        await delay(20)
      }
      this.#progress()
    }
  }

  async #ask({ sql }: ReturnType<typeof createSql>, random: Random): Promise<TruthRow> {
    const kind = random.below(4)
    if (kind === 0) {
      const { rows } = await sql<Numbers>`select min(rate) as low, max(rate) as high, count(*) as n from rates`
      const { low, high, n } = rows[0]!
      return { ratesMin: Number(low), ratesMax: Number(high), isWhole: Number(n) === KINDS }
    }
    if (kind === 1) {
      const { rows } =
        await sql<Numbers>`select min(a.amount) as low, max(a.amount) as high, min(r.rate) as least, max(r.rate) as most,
        count(*) as n from accounts a join rates r on r.kind = a.kind`
      const { low, high, least, most, n } = rows[0]!
      const isWhole = Number(n) === SHARDS * ACCOUNTS_PER_SHARD
      return {
        accountsMin: Number(low),
        accountsMax: Number(high),
        ratesMin: Number(least),
        ratesMax: Number(most),
        isWhole,
      }
    }
    const from = random.below(ACCOUNTS_PER_SHARD)
    const to = SHARDS * ACCOUNTS_PER_SHARD - 1 - random.below(ACCOUNTS_PER_SHARD)
    const { rows } =
      await sql<Numbers>`select min(amount) as low, max(amount) as high, sum(amount) as total, count(*) as n
      from accounts where id between ${from} and ${to}`
    return accountsRow(rows[0]!, to - from + 1)
  }

  async #readNaively(random: Random): Promise<void> {
    const history = new SessionHistory()
    this.#naive.push(history)
    const connections = new Map<number, Connection>()
    while (!this.#isOver) {
      try {
        history.take(await this.#askNaively(connections, random))
      } catch {
        for (const connection of connections.values()) connection.destroy()
        connections.clear()
        await delay(20)
      }
      await delay(NAIVE_PAUSE_MS)
    }
    for (const connection of connections.values()) connection.destroy()
  }

  async #askNaively(connections: Map<number, Connection>, random: Random): Promise<TruthRow> {
    const of = async (shard: number) => {
      const known = connections.get(shard) ?? (await this.#dial(shard))
      connections.set(shard, known)
      return known
    }
    if (random.below(4) === 0) {
      const rows = await (await of(random.below(SHARDS))).query('SELECT MIN(rate) AS low, MAX(rate) AS high FROM rates')
      return { ratesMin: Number(rows[0].low), ratesMax: Number(rows[0].high), isWhole: true }
    }
    const text = 'SELECT MIN(amount) AS low, MAX(amount) AS high, SUM(amount) AS total, COUNT(*) AS n FROM accounts'
    const parts = await Promise.all(
      this.#fleet.engines.map(async (_, i) => (await (await of(i)).query(text))[0] as Numbers),
    )
    const numbers = (name: string) => parts.map(part => Number(part[name]))
    const sum = (name: string) => numbers(name).reduce((a, b) => a + b, 0)
    const row = {
      low: Math.min(...numbers('low')),
      high: Math.max(...numbers('high')),
      total: sum('total'),
      n: sum('n'),
    }
    return accountsRow(row, SHARDS * ACCOUNTS_PER_SHARD)
  }

  async #dial(shard: number): Promise<Connection> {
    const { port } = this.#fleet.engines[shard]!
    const connection = await createConnection({
      host: '127.0.0.1',
      port,
      user: 'root',
      database: 'freshet',
      connectTimeout: 1000,
    })
    // Its server will be killed. The code that uses the connection gets the error as well.
    connection.on('error', () => undefined)
    return connection
  }

  async #write(random: Random): Promise<void> {
    while (!this.#isOver) {
      const session = createSql(random.pick(this.#dbs) as Database)
      try {
        const { position } = await this.#writeOnce(session, random)
        this.#acknowledged.push(position)
      } catch {
        await delay(20)
      }
      // Faster and faster: at the end without a pause, so that queries must pause the log to finish.
      await delay(random.below(1 + WRITE_PAUSE_MS_MAX * (1 - this.#done / this.#options.results)))
    }
  }

  #writeOnce({ global }: ReturnType<typeof createSql>, random: Random) {
    if (this.#schemaChanges < SCHEMA_CHANGES && random.below(50) === 0) {
      const column = `note_${this.#schemaChanges++}`
      return global([
        `alter table accounts add column ${column} int not null default 7`,
      ] as unknown as TemplateStringsArray)
    }
    return random.below(2) === 0
      ? global`update accounts set amount = amount + ${1}`
      : global`update rates set rate = rate + ${1} where kind >= ${0}`
  }

  async #disturb(random: Random): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      await Promise.race([delay(this.#options.faultMs), this.#ended.promise])
      const kind = FAULTS[i % FAULTS.length]!
      if (this.#isOver) return
      this.#faults[kind]!++
      await this.#fault(kind, random)
    }
  }

  async #fault(kind: (typeof FAULTS)[number], random: Random): Promise<void> {
    if (kind === 'shardsKilled') return restart(random.pick(this.#fleet.engines))
    if (kind === 'serversKilled') {
      const server = random.pick(this.#fleet.servers)
      this.#forgotten.push(await countersOf(server).catch(() => NOTHING))
      return server.restart()
    }
    if (kind === 'logsKilled') return restart(this.#fleet.arbitrator)
    // The shard answers queries, but applies no writes: other shards are ahead of it by seconds.
    const connection = await this.#dial(random.below(SHARDS)).catch(() => undefined)
    if (connection === undefined) return
    await connection.query('START TRANSACTION').catch(() => undefined)
    await connection.query('SELECT * FROM freshet_shard FOR UPDATE').catch(() => undefined)
    await delay(1000 + random.below(2000))
    connection.destroy()
  }

  #progress(): void {
    this.#done = this.#histories.reduce((sum, { results }) => sum + results, 0)
    if (this.#done >= this.#options.results) {
      this.#isOver = true
      this.#ended.resolve()
    }
    this.#options.onProgress(this.#done, `${this.#acknowledged.length} global writes`)
  }

  async #readLog(): Promise<{ writes: number; wrongWrites: number; order: readonly ('accounts' | 'rates')[] }> {
    const log = openGlobalLog({ url: this.#fleet.config.arbitrator! })
    const writes = await log.writesAfter(0, 10_000_000)
    await log.close()
    const positions = new Set(writes.map(({ position }) => position))
    const lost = this.#acknowledged.filter(position => !positions.has(position)).length
    const twice = this.#acknowledged.length - new Set(this.#acknowledged).size
    const order = writes
      .filter(({ isSchemaChange }) => !isSchemaChange)
      .map(({ aspects }) => aspects[0] as 'accounts' | 'rates')
    return { writes: writes.length, wrongWrites: lost + twice, order }
  }
}

async function countersOf({ url }: { readonly url: string }): Promise<Counters> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const value = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  return { refetches: value('freshet_sql_refetches'), logHolds: value('freshet_sql_holds') }
}

function ending(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

async function restart(engine: SqlFleet['engines'][number]): Promise<void> {
  await engine.kill()
  await engine.startAgain()
}

function accountsRow({ low, high, total, n }: Numbers, count: number): TruthRow {
  const isWhole = Number(n) === count && Number(total) === Number(low) * count
  return { accountsMin: Number(low), accountsMax: Number(high), isWhole: isWhole || low !== high }
}

function sumsOf(histories: readonly SessionHistory[], pairs: number) {
  const sum = (of: (history: SessionHistory) => number) => histories.reduce((total, history) => total + of(history), 0)
  return {
    results: sum(({ results }) => results),
    inconsistent: sum(({ inconsistent }) => inconsistent) + pairs,
    backwards: sum(({ backwards }) => backwards),
  }
}

function naiveSums(histories: readonly SessionHistory[]) {
  const { results, inconsistent, backwards } = sumsOf(histories, 0)
  return { naiveResults: results, naiveInconsistent: inconsistent, naiveBackwards: backwards }
}
