/**
 * An engine over Redis, for any number of servers at once. Redis decides on commits itself: a commit is one script and one
 * round trip. This is the one exception to `decide` of core; `commit-script.test.ts` compares the two. `layout.ts` draws what
 * Redis keeps, `commit-script.ts` what a commit does, `redis-session.ts` what happens when a connection is lost;
 * docs/decisions/0009 has the reasons.
 *
 * It takes no leases. If Redis was emptied, or has lost acknowledged writes, the log gets another id.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type {
  BucketChange,
  Commit,
  CommitResult,
  Key,
  LogEntry,
  MaybePromise,
  OperationCounts,
  Position,
  ReadCount,
  StoredValue,
  StoreSupports,
} from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { SharedClock } from '@freshet/store/clock'
import type { CommitListeners, Engine, LogBegin, LogPart, Subject, View } from '@freshet/store/engine'
import { RemoteReads } from '@freshet/store/reads'
import { type Argument, type Client, type Reply, Script } from './client.js'
import { keysOf, partsOf, resultOf } from './commit-arguments.js'
import { CommitBatches } from './commit-batches.js'
import { asksForIndexes, CommitIndexes } from './commit-indexes.js'
import { KnownIndexes } from './declared-indexes.js'
import type { Layout } from './layout.js'
import { positionIn, type RedisReader, valueIn } from './read-state.js'
import { damaged } from './redis-errors.js'
import { RedisIndexUpkeep } from './redis-index-upkeep.js'
import { RedisReplica } from './redis-replica.js'
import type { Effect, RedisSession } from './redis-session.js'
import { RedisViews } from './redis-views.js'
import { FORGET_SCRIPT, HOLD_SCRIPT, TRIM_SCRIPT } from './upkeep-scripts.js'

const FORGET_MAX = 1000
const trimScript = new Script(TRIM_SCRIPT)
const forgetScript = new Script(FORGET_SCRIPT)
const holdScript = new Script(HOLD_SCRIPT)

export interface RedisEngineOptions {
  readonly session: RedisSession
  readonly layout: Layout
  readonly clock: SharedClock
  readonly listeners: CommitListeners
  readonly retentionMs: number
  /** The addresses of replicas to read from. */
  readonly replicas: readonly string[]
  readonly onWarning: (warning: string) => void
}

export class RedisEngine implements Engine, RedisReader {
  readonly place: string
  readonly supports: StoreSupports
  readonly log: string
  readonly hasLeases = false
  readonly listeners: CommitListeners
  readonly layout: Layout
  readonly #session: RedisSession
  readonly #clock: SharedClock
  readonly #batches: CommitBatches
  readonly #known = new KnownIndexes()
  readonly #views: RedisViews
  readonly #reads: RemoteReads
  readonly #upkeep: RedisIndexUpkeep
  /** The log that the server connected to last. */
  #attached: string
  /** The last request for the position; requests in the same turn share it. */
  #asking: { readonly turn: object; readonly answer: Promise<Position> } | undefined

  constructor({ session, layout, clock, listeners, retentionMs, replicas, onWarning }: RedisEngineOptions) {
    this.place = session.where
    this.supports = { durability: session.durability, retentionMs }
    this.log = session.log
    this.listeners = listeners
    this.layout = layout
    this.#session = session
    this.#clock = clock
    this.#batches = new CommitBatches(layout.head, clock)
    this.#attached = session.log
    const known = this.#known
    this.#views = new RedisViews({ reader: this, known, learns: true })
    this.#reads = new RemoteReads({
      primary: {
        latest: keys => this.#latest(keys),
        inOneState: (subject, read) => this.#views.inOneState(subject, read),
      },
      replicas: replicas.map(url => new RedisReplica({ url, layout, known, log: () => session.currentLog })),
      position: () => this.position(),
      changes: (after, limit) => this.#readLog(after, limit),
      onWarning,
    })
    this.#upkeep = new RedisIndexUpkeep({
      reader: this,
      known,
      run: (script, args, keys) => this.#run('repeatable', script, args, session.isCluster ? keys : []),
    })
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return this.#reads.get(key, atLeast)
  }

  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    return this.#reads.inOneState(subject, read)
  }

  async buckets(): Promise<BucketChange[]> {
    const reply = await this.command(['HGETALL', this.layout.buckets])
    const parts = (reply as readonly Buffer[]).map(String)
    return parts.flatMap((bucket, i) => (i % 2 === 0 ? [{ bucket, version: Number(parts[i + 1]) }] : []))
  }

  async commit(commit: Commit): Promise<CommitResult> {
    const effect = effectOf(commit)
    for (let indexes = CommitIndexes.of(commit, this.#known); ; ) {
      const parts = partsOf(commit, this.supports.retentionMs, indexes)
      const reply = await this.#session.run(effect, client => {
        const keys = this.#session.isCluster ? keysOf(commit, this.layout, indexes) : undefined
        return this.#batches.add(client, parts, keys)
      })
      if (reply === null) {
        this.#session.startOver()
      } else if (asksForIndexes(reply)) {
        indexes ??= new CommitIndexes(commit, this.#known)
        indexes.learn(reply, this)
      } else {
        const result = resultOf(commit, reply, why => damaged(this.place, why))
        if (result.committed) this.#committed(result.position, indexes)
        return result
      }
    }
  }

  async forgetOperations(): Promise<void> {
    for (;;) {
      const args = [`${this.#clock.nowMs()}`, `${this.supports.retentionMs}`, `${FORGET_MAX}`]
      const [clients = 0, foreign = 0] = (await this.#run('repeatable', forgetScript, args)) as readonly number[]
      if (!(clients === FORGET_MAX || foreign === FORGET_MAX)) return
    }
  }

  /** The sum of bytes leaves out the windows, one small hash for each client: Redis would have to visit them all. */
  async operationCounts(): Promise<OperationCounts> {
    const { clients, foreign, foreignLog } = this.layout
    const [known, others] = await Promise.all([this.command(['ZCARD', clients]), this.command(['HLEN', foreign])])
    const bytes = await Promise.all([clients, foreign, foreignLog].map(key => this.command(['MEMORY', 'USAGE', key])))
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

  /** Only Redis knows what other servers have acknowledged. Requests in the same turn share one round trip. */
  position(): Promise<Position> {
    const { turn } = this.#session
    if (this.#asking?.turn !== turn) this.#asking = { turn, answer: this.#askPosition() }
    return this.#asking.answer
  }

  readCounts(): readonly ReadCount[] {
    return this.#reads.counts()
  }

  changes(after: Position, limit: number): Promise<LogPart> {
    return this.#reads.changes(after, limit)
  }

  async begin(): Promise<LogBegin> {
    return this.#beginIn(await this.#session.run('reads', client => this.#askBegin(client)))
  }

  async trim(upTo: Position): Promise<void> {
    for (;;) {
      const [removed] = (await this.#run('repeatable', trimScript, [`${upTo}`])) as readonly Buffer[]
      if (!(Number(removed) > 0)) return
    }
  }

  nowMs(): number {
    return this.#clock.nowMs()
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    await this.#session.run('repeatable', client => client.sendCommand(['HSET', this.layout.memory, name, bytes]))
  }

  async recall(name: string): Promise<Uint8Array | undefined> {
    const found = await this.command(['HGET', this.layout.memory, name])
    return found === null ? undefined : Buffer.from(found as Buffer)
  }

  async hold(name: string, holder: string, ms: number): Promise<boolean> {
    const args = [name, holder, `${Math.ceil(ms)}`, `${this.#clock.nowMs()}`]
    const reply = await this.#run('repeatable', holdScript, args)
    if (Array.isArray(reply)) throw this.gone()
    return reply === 1
  }

  async stop(): Promise<void> {
    // Commits that were requested before are sent first.
    await nextTurn()
    await this.#upkeep.stop()
  }

  async close(): Promise<void> {
    await this.#reads.close()
    await this.#session.close()
  }

  /** Redis has reported this position. */
  tell(position: Position): void {
    this.#reads.replicas.tell(position)
  }

  /** The server has connected to Redis. If the log is another one, nothing known of the previous log holds. */
  attach(log: string): void {
    if (log === this.#attached) return
    this.#attached = log
    this.#reads.replicas.startOver()
  }

  command(args: readonly Argument[]): Promise<Reply> {
    return this.#session.run('reads', client => client.sendCommand(args))
  }

  run(script: Script, args: readonly Argument[]): Promise<Reply> {
    return this.#run('reads', script, args)
  }

  reached(position: Position): void {
    if (position > this.#session.position) this.#session.position = position
    this.tell(position)
  }

  gone(): FreshetError {
    this.#session.startOver()
    const message = `Redis at ${this.place} was emptied. The server creates a new store there; try again.`
    return new FreshetError('STORE_UNAVAILABLE', message, { details: { outcome: 'not-done' } })
  }

  #committed(position: Position, indexes: CommitIndexes | undefined): void {
    this.reached(position)
    indexes?.committed(position)
    if (indexes?.hasDeclared) this.#upkeep.wake()
  }

  /** `keys`: the keys that it writes besides the head, where they must be declared. */
  #run(effect: Effect, script: Script, args: readonly Argument[], keys: readonly string[] = []): Promise<Reply> {
    return this.#session.run(effect, client => script.run(client, this.layout.head, args, keys))
  }

  async #latest(keys: readonly Key[]): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    const records = (await this.command(['MGET', ...keys.map(key => this.layout.values + key)])) as readonly Reply[]
    return new Map(keys.map((key, i) => [key, this.#foundAt(key, records[i]!)]))
  }

  /** A damaged value fails only the reads of its key. */
  #foundAt(key: Key, record: Reply): MaybePromise<StoredValue | undefined> {
    try {
      return record === null ? undefined : valueIn(record, key, this)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #readLog(after: Position, limit: number): Promise<LogPart> {
    const range = ['XRANGE', this.layout.log, `(${after}-0`, '+', 'COUNT', `${limit}`]
    // Where the log begins is read after its entries: if that is not beyond `after`, no entry was missing before.
    const read = (client: Client) => Promise.all([client.sendCommand(range), this.#askBegin(client)])
    const [found, begin] = (await this.#session.run('reads', read)) as readonly [Reply, Reply]
    const entries = (found as unknown as readonly StreamEntry[]).map(entryOf)
    this.#clock.isAtLeast(entries.at(-1)?.timeMs ?? 0)
    return { ...this.#beginIn(begin), entries }
  }

  #askBegin(client: Client): Promise<Reply> {
    return client.sendCommand(['HMGET', this.layout.meta, 'trimmed', 'log'])
  }

  #beginIn(reply: Reply): LogBegin {
    const [trimmedTo, log] = reply as readonly (Buffer | null)[]
    if (!trimmedTo || !log) throw this.gone()
    return { log: String(log), trimmedTo: Number(trimmedTo) }
  }

  async #askPosition(): Promise<Position> {
    return positionIn(await this.command(['GET', this.layout.head]), this)
  }
}

/** A commit with an operation's id takes effect once, however often it is sent. */
function effectOf({ operation, writes, adds = [] }: Commit): Effect {
  if (operation !== undefined) return 'repeatable'
  return writes.length + adds.length === 0 ? 'reads' : 'once'
}

type StreamEntry = readonly [id: Buffer, fields: readonly [k: Buffer, keys: Buffer, t?: Buffer, tags?: Buffer]]

function entryOf([id, [, text, , tags]]: StreamEntry): LogEntry {
  const [timeMs, ...keys] = String(text).split('\0') as [string, ...string[]]
  const position = Number.parseInt(String(id), 10)
  return { position, timeMs: Number(timeMs), keys, tags: tags === undefined ? [] : String(tags).split('\0') }
}
