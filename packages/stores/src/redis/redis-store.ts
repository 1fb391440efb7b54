/**
 * A store in Redis, for any number of servers at once. Everything that decides is in Redis: a commit is one script and one round
 * trip. `layout.ts` draws what is kept, `commit-script.ts` what a commit does, `redis-session.ts` what happens when a connection
 * is lost; docs/decisions/0009 has the reasons.
 *
 * It answers no queries, and takes no leases. If Redis was emptied, or has lost what it had acknowledged, the log has another id;
 * `log` says so as soon as `changes` or `trimmedTo` has met it, so that whoever follows the log starts over with the right one.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { listOf } from '@freshet/core/currency'
import {
  type BucketChange,
  CHANGES_LIMIT_DEFAULT,
  type Commit,
  type CommitResult,
  checkCommit,
  checkLimit,
  checkPosition,
  type IndexState,
  type Key,
  type LogEntry,
  type LogPlace,
  type MaybePromise,
  type OperationCounts,
  type Position,
  type QueryPage,
  type QueryVersion,
  type ReadCount,
  type ScanPage,
  type ScanRange,
  type Snapshot,
  type Store,
  type StoredValue,
  type StoreSupports,
} from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { CommitListeners } from '../embedded/commit-listeners.js'
import { checkStorable, decodeValue } from '../embedded/records.js'
import { GatheredReads } from '../gathering/gathered-reads.js'
import { ReplicaReads } from '../replicas/replica-reads.js'
import { parseAddress } from './address.js'
import { Addresses } from './addresses.js'
import { type ReadPage, readBucketPage } from './bucket-pages.js'
import { type Client, type Reply, Script } from './client.js'
import { keysOf, partsOf, resultOf } from './commit-arguments.js'
import { CommitBatches } from './commit-batches.js'
import { type Layout, layoutOf, parseHead } from './layout.js'
import { RedisClock } from './redis-clock.js'
import { closed } from './redis-errors.js'
import { RedisReplica } from './redis-replica.js'
import { type Effect, RedisSession } from './redis-session.js'
import { FORGET_SCRIPT, HOLD_SCRIPT, SCAN_SCRIPT, TRIM_SCRIPT } from './upkeep-scripts.js'

export interface RedisStoreOptions {
  /** `redis://user:password@host:6379/0`, `redis://a:6379,b:6379`, `redis://a,b?sentinel=NAME`: see `address.ts`. Or several. */
  readonly url: string | readonly string[]
  /** Of the store, for there may be several in one Redis; `main` unless given. */
  readonly name?: string
  /** So long operations are remembered; a day unless given. The same for all who have the store open. */
  readonly retentionMs?: number
  /** A Redis that is silent for longer is connected to again; 5 seconds unless given. */
  readonly answerMsMax?: number
  /** So long a call waits for a Redis that cannot be reached before it fails; 5 seconds unless given. */
  readonly patienceMs?: number
  /** What an earlier process knew of the log: if that is not there any more, the log is another one. */
  readonly recalled?: LogPlace | undefined
  /** Told once of whatever in the settings of Redis could cost acknowledged writes. */
  readonly onWarning?: (warning: string) => void
}

const FORGET_MAX = 1000
const scanScript = new Script(SCAN_SCRIPT)
const trimScript = new Script(TRIM_SCRIPT)
const forgetScript = new Script(FORGET_SCRIPT)
const holdScript = new Script(HOLD_SCRIPT)

/**
 * Creates the store if there is none. Throws STORE_UNAVAILABLE if no Redis answers, STORE_UNUSABLE if it would lose data by
 * itself, is too old or does not let us in.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { url, name = 'main', retentionMs = RETENTION_MS_DEFAULT, answerMsMax = 5_000, patienceMs = 5_000 } = options
  const address = parseAddress(url)
  const layout = layoutOf(name)
  const clock = new RedisClock()
  const listeners = new CommitListeners()
  const opened: { store?: RedisStore } = {}
  const session = await RedisSession.open({
    addresses: new Addresses(address),
    layout,
    clock,
    answerMsMax,
    patienceMs,
    recalled: options.recalled,
    onWarning: warning => options.onWarning?.(warning),
    onPosition: position => {
      opened.store?.tell(position)
      listeners.notifySoon(position)
    },
    onLog: log => opened.store?.attach(log),
  })
  const { replicas } = address
  const onWarning = (warning: string) => options.onWarning?.(warning)
  opened.store = new RedisStore({ session, layout, clock, listeners, retentionMs, replicas, onWarning })
  return opened.store
}

interface RedisStoreParts {
  readonly session: RedisSession
  readonly layout: Layout
  readonly clock: RedisClock
  readonly listeners: CommitListeners
  readonly retentionMs: number
  /** Where they are. */
  readonly replicas: readonly string[]
  readonly onWarning: (warning: string) => void
}

class RedisStore implements Store {
  readonly supports: StoreSupports
  readonly #session: RedisSession
  readonly #layout: Layout
  readonly #clock: RedisClock
  readonly #listeners: CommitListeners
  readonly #batches: CommitBatches
  #log: string
  readonly #reads = new GatheredReads((keys, atLeast) => this.#values(keys, atLeast))
  readonly #replicas: ReplicaReads<RedisReplica>
  /** The log that was connected to last. */
  #attached: string
  /** The last that was asked for; in the same turn others share it. */
  #asking: { readonly turn: object; readonly answer: Promise<Position> } | undefined
  #isClosed = false

  constructor({ session, layout, clock, listeners, retentionMs, replicas, onWarning }: RedisStoreParts) {
    this.supports = { durability: session.durability, multiKeyCommits: true, queries: false, retentionMs }
    this.#session = session
    this.#layout = layout
    this.#clock = clock
    this.#listeners = listeners
    this.#batches = new CommitBatches(layout.head, clock)
    this.#log = session.log
    this.#attached = session.log
    const readValue = (key: Key, record: Reply) => this.#valueOf(key, record)
    this.#replicas = new ReplicaReads({
      replicas: replicas.map(url => new RedisReplica({ url, layout, log: () => session.currentLog, readValue })),
      reached: replica => replica.reached(),
      position: () => this.position(),
      changes: (after, limit) => this.changes(after, limit),
      onWarning,
    })
  }

  get log(): string {
    return this.#log
  }

  async get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    this.#checkOpen()
    return this.#reads.get(key, atLeast)
  }

  async getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    if (this.#replicas.isEmpty) return this.#getMany(keys)
    this.#checkOpen()
    return this.#replicas.read<Snapshot<readonly (StoredValue | undefined)[]>>({
      atLeast: undefined,
      names: keys,
      ask: async replica => {
        const { value, position } = await replica.values(keys)
        return { value: keys.map((key, i) => ownValue(keys, i, value.get(key))), position }
      },
      askPrimary: () => this.#getMany(keys),
    })
  }

  async #getMany(keys: readonly Key[]): Promise<Snapshot<readonly (StoredValue | undefined)[]>> {
    const args = ['MGET', this.#layout.head, ...keys.map(key => this.#layout.values + key)]
    const reply = await this.#session.run('reads', client => client.sendCommand(args))
    const [head, ...records] = reply as readonly Reply[]
    return { value: records.map((record, i) => this.#valueOf(keys[i]!, record)), position: this.#positionIn(head!) }
  }

  async scan(bucket: Key, range: ScanRange = {}): Promise<ScanPage> {
    const damaged = (id: string) => this.#damaged(`${bucket}/${id}`)
    const fromPrimary = () => {
      const read: ReadPage = (first, last, count) => this.#run('reads', scanScript, [bucket, first, last, `${count}`])
      return readBucketPage(range, read, damaged)
    }
    if (this.#replicas.isEmpty) return fromPrimary()
    this.#checkOpen()
    return this.#replicas.read<ScanPage>({
      atLeast: undefined,
      names: [listOf(bucket)],
      ask: replica => readBucketPage(range, (first, last, count) => replica.page(bucket, first, last, count), damaged),
      askPrimary: fromPrimary,
    })
  }

  async query(): Promise<QueryPage> {
    throw this.#noQueries()
  }

  async queryVersion(): Promise<QueryVersion> {
    throw this.#noQueries()
  }

  indexes(): readonly IndexState[] {
    this.#checkOpen()
    return []
  }

  async buckets(): Promise<readonly BucketChange[]> {
    const reply = await this.#command(['HGETALL', this.#layout.buckets])
    const parts = (reply as readonly Buffer[]).map(String)
    const changes = parts.flatMap((bucket, i) => (i % 2 === 0 ? [{ bucket, version: Number(parts[i + 1]) }] : []))
    return changes.sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    this.#checkOpen()
    checkCommit(commit)
    checkStorable(commit)
    const { writes, lists = [] } = commit
    const isQuery = lists.some(({ tags = [] }) => tags.length > 0)
    if (isQuery || writes.some(write => 'indexes' in write && write.indexes !== undefined)) throw this.#noQueries()
    const effect = effectOf(commit)
    const parts = partsOf(commit, this.supports.retentionMs)
    for (;;) {
      const reply = await this.#session.run(effect, client => {
        const keys = this.#session.isCluster ? keysOf(commit, this.#layout) : undefined
        return this.#batches.add(client, parts, keys)
      })
      if (reply === null) {
        this.#session.startOver()
        continue
      }
      const result = resultOf(commit, reply, why => this.#misused(why))
      if (result.committed) this.#reach(result.position)
      return result
    }
  }

  async forgetOperations(): Promise<void> {
    for (;;) {
      const args = [`${this.#clock.nowMs()}`, `${this.supports.retentionMs}`, `${FORGET_MAX}`]
      const [clients = 0, foreign = 0] = (await this.#run('repeatable', forgetScript, args)) as readonly number[]
      if (!(clients === FORGET_MAX || foreign === FORGET_MAX)) return
    }
  }

  /** The windows themselves are one small hash for each client, and not in the sum of bytes: it would take a walk over them all. */
  async operationCounts(): Promise<OperationCounts> {
    const { clients, foreign, foreignLog } = this.#layout
    const [known, others] = await Promise.all([this.#command(['ZCARD', clients]), this.#command(['HLEN', foreign])])
    const bytes = await Promise.all([clients, foreign, foreignLog].map(key => this.#command(['MEMORY', 'USAGE', key])))
    const memoryBytes = bytes.reduce<number>((sum, each) => sum + Number(each ?? 0), 0)
    return {
      clients: Number(known),
      foreign: Number(others),
      memoryBytes,
      diskBytes: 0,
      mode: 'exact',
      falsePositiveRate: 0,
    }
  }

  /** It takes a round trip to know what others have acknowledged; those who ask in the same turn share one. */
  position(): Promise<Position> {
    this.#checkOpen()
    const { turn } = this.#session
    if (this.#asking?.turn !== turn) {
      const answer = this.#command(['GET', this.#layout.head]).then(head => this.#positionIn(head))
      this.#asking = { turn, answer }
    }
    return this.#asking.answer
  }

  readCounts(): readonly ReadCount[] {
    return this.#replicas.isEmpty ? [] : this.#replicas.counts()
  }

  async changes(after: Position, limit: number = CHANGES_LIMIT_DEFAULT): Promise<readonly LogEntry[]> {
    checkPosition('after', after)
    checkLimit(limit)
    const { told } = this.#replicas
    const read = ['XRANGE', this.#layout.log, `(${after}-0`, '+', 'COUNT', `${limit}`]
    // Where it begins is asked for behind it: if that is not beyond `after` then, nothing was missing before.
    const [entries, begun] = await this.#together(client => [client.sendCommand(read), this.#begin(client)])
    const begin = this.#meet(begun!)
    if (after < begin) {
      throw new FreshetError(
        'LOG_TRIMMED',
        `The log begins after position ${begin}; what follows ${after} is no longer complete. Start over.`,
      )
    }
    const changes = (entries as unknown as readonly StreamEntry[]).map(entryOf)
    this.#clock.isAtLeast(changes.at(-1)?.timeMs ?? 0)
    const last = changes.at(-1)?.position ?? after
    this.#replicas.follow(after, changes, changes.length < limit ? Math.max(last, told) : last)
    return changes
  }

  async trimmedTo(): Promise<Position> {
    return this.#meet(await this.#session.run('reads', client => this.#begin(client)))
  }

  async trim(upTo: Position): Promise<void> {
    this.#checkOpen()
    checkPosition('upTo', upTo)
    for (;;) {
      const [removed] = (await this.#run('repeatable', trimScript, [`${upTo}`])) as readonly Buffer[]
      if (!(Number(removed) > 0)) return
    }
  }

  nowMs(): number {
    this.#checkOpen()
    return this.#clock.nowMs()
  }

  onCommit(listener: (position: Position) => void): () => void {
    this.#checkOpen()
    return this.#listeners.add(listener)
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    const copy = Buffer.from(value)
    await this.#session.run('repeatable', client => client.sendCommand(['HSET', this.#layout.memory, name, copy]))
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    const found = await this.#command(['HGET', this.#layout.memory, name])
    return found === null ? undefined : Buffer.from(found as Buffer)
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const args = [name, holder, `${Math.ceil(ms)}`, `${this.#clock.nowMs()}`]
    const reply = await this.#run('repeatable', holdScript, args)
    if (Array.isArray(reply)) throw this.#gone()
    return reply === 1
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#listeners.clear()
    // What was asked for before is sent first.
    await nextTurn()
    await this.#replicas.close()
    await this.#session.close()
  }

  /** Redis has told this position. */
  tell(position: Position): void {
    this.#replicas.tell(position)
  }

  /** Redis was connected to. If it has another log, what was known of the one before is of no account. */
  attach(log: string): void {
    if (log === this.#attached) return
    this.#attached = log
    this.#replicas.startOver()
  }

  #values(
    keys: readonly Key[],
    atLeast: Position | undefined,
  ): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    if (this.#replicas.isEmpty) return this.#latest(keys)
    return this.#replicas.readEach<MaybePromise<StoredValue | undefined>>({
      atLeast,
      keys,
      ask: (replica, asked) => replica.values(asked),
      askPrimary: asked => this.#latest(asked),
    })
  }

  async #latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    const records = await this.#command(['MGET', ...keys.map(key => this.#layout.values + key)])
    return new Map(keys.map((key, i) => [key, this.#foundAt(key, (records as readonly Reply[])[i]!)]))
  }

  #command(args: readonly string[]): Promise<Reply> {
    return this.#session.run('reads', client => client.sendCommand(args))
  }

  #run(effect: Effect, script: Script, args: readonly (string | Buffer)[]): Promise<Reply> {
    return this.#session.run(effect, client => script.run(client, this.#layout.head, args))
  }

  /** In this order, on one connection. */
  async #together(send: (client: Client) => readonly Promise<Reply>[]): Promise<readonly Reply[]> {
    return (await this.#session.run('reads', client => Promise.all(send(client)))) as readonly Reply[]
  }

  #begin(client: Client): Promise<Reply> {
    return client.sendCommand(['HMGET', this.#layout.meta, 'trimmed', 'log'])
  }

  #meet(reply: Reply): Position {
    const [trimmedTo, log] = reply as readonly (Buffer | null)[]
    if (!trimmedTo || !log) throw this.#gone()
    this.#log = String(log)
    return Number(trimmedTo)
  }

  #positionIn(head: Reply): Position {
    if (head === null) throw this.#gone()
    const { position } = parseHead((head as Buffer).toString('latin1'))
    this.#reach(position)
    return position
  }

  #reach(position: Position): void {
    if (position > this.#session.position) this.#session.position = position
    this.#replicas.tell(position)
  }

  #valueOf(key: Key, record: Reply): StoredValue | undefined {
    if (record === null) return undefined
    const value = decodeValue(record as Buffer, (record as Buffer).length)
    if (value === undefined) throw this.#damaged(key)
    return value
  }

  /** One that is damaged is the trouble of whoever asked for it alone. */
  #foundAt(key: Key, record: Reply): MaybePromise<StoredValue | undefined> {
    try {
      return this.#valueOf(key, record)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #gone(): FreshetError {
    this.#session.startOver()
    const message = `Redis at ${this.#session.where} was emptied. A new store is made there; try again.`
    return new FreshetError('STORE_UNAVAILABLE', message, { details: { outcome: 'not-done' } })
  }

  #damaged(key: Key): FreshetError {
    return this.#misused(`${JSON.stringify(key)} is no value that we wrote`)
  }

  #misused(why: string): FreshetError {
    const message = `Redis at ${this.#session.where} does not hold what it should: ${why}. See who else writes to it.`
    return new FreshetError('STORE_DAMAGED', message)
  }

  #noQueries(): FreshetError {
    this.#checkOpen()
    return new FreshetError(
      'LIMIT_EXCEEDED',
      'A store in Redis has no indexes and answers no queries. List the bucket instead.',
    )
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closed(this.#session.where)
  }
}

/** What has an operation's id takes effect once, however often it is sent. */
function effectOf({ operation, writes, adds = [] }: Commit): Effect {
  if (operation !== undefined) return 'repeatable'
  return writes.length + adds.length === 0 ? 'reads' : 'once'
}

/** A key that is asked for twice is answered with bytes of its own, twice. */
function ownValue(keys: readonly Key[], i: number, value: StoredValue | undefined): StoredValue | undefined {
  return value === undefined || keys.indexOf(keys[i]!) === i ? value : { ...value, body: Buffer.from(value.body) }
}

type StreamEntry = readonly [id: Buffer, fields: readonly [field: Buffer, value: Buffer]]

function entryOf([id, [, value]]: StreamEntry): LogEntry {
  const [timeMs, ...keys] = String(value).split('\0') as [string, ...string[]]
  return { position: Number.parseInt(String(id), 10), timeMs: Number(timeMs), keys, tags: [] }
}
