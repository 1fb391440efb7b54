/**
 * Reads of an engine over a network. Single objects that are requested in one turn are read together. Where there are
 * replicas, the nearest one that is current for the request answers (`replica-reads.ts`); otherwise the primary does.
 */
import type { Key, LogEntry, MaybePromise, Position, ReadCount, Snapshot, StoredValue } from '@freshet/core/store'
import type { LogPart, Subject, View } from '../engine/engine.js'
import { logTrimmed } from '../engine/store-errors.js'
import { UnderWay } from '../engine/under-way.js'
import { GatheredReads } from './gathered-reads.js'
import { listOf } from './last-changes.js'
import { AskPrimary, type Replica, ReplicaReads } from './replica-reads.js'

/** A replica throws at once if it does not answer, or holds another store. */
export interface RemoteReplica extends Replica {
  /** The values of those keys that exist. */
  values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>>
  inOneState<Result>(subject: Subject, read: (view: View) => Promise<Result>): Promise<Result>
}

export interface RemotePrimary {
  /** The latest values. A key that is not in the map does not exist; a promised value is not durable yet. */
  latest(
    keys: readonly Key[],
    atLeast: Position | undefined,
  ): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>>
  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result>
}

export interface RemoteReadsOptions {
  readonly primary: RemotePrimary
  readonly replicas: readonly RemoteReplica[]
  /** The primary's position, now. */
  readonly position: () => Promise<Position>
  /** The primary's log, as returned by `Engine.changes`. */
  readonly changes: (after: Position, limit: number) => Promise<LogPart>
  /** Called with the reason when a replica is no longer used. */
  readonly onWarning: (text: string) => void
}

export class RemoteReads {
  readonly #primary: RemotePrimary
  readonly #changes: RemoteReadsOptions['changes']
  readonly #gathered: GatheredReads
  readonly #underWay = new UnderWay()
  /** Reports of the primary must be passed on to these (`tell`, `follow`, `startOver`). */
  readonly replicas: ReplicaReads<RemoteReplica>

  constructor({ primary, replicas, position, changes, onWarning }: RemoteReadsOptions) {
    this.#primary = primary
    this.#changes = changes
    const reached = async (replica: RemoteReplica) => (await replica.values([])).position
    const entriesAfter = (after: Position, limit: number) => this.#entriesAfter(after, limit)
    this.replicas = new ReplicaReads({ replicas, reached, position, changes: entriesAfter, onWarning })
    this.#gathered = new GatheredReads((keys, atLeast) => this.#underWay.during(this.#values(keys, atLeast)))
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return this.#gathered.get(key, atLeast)
  }

  inOneState<Result extends { readonly position: Position }>(
    subject: Subject,
    read: (view: View) => Promise<Result>,
  ): Promise<Result> {
    const askPrimary = () => this.#primary.inOneState(subject, read)
    // The log does not record how far an index is built, so no replica can be shown to be current in that.
    const isAboutIndexes = subject.query === undefined && subject.expected === 0
    if (this.replicas.isEmpty || isAboutIndexes) return askPrimary()
    return this.replicas.read<Result>({
      atLeast: undefined,
      names: subject.keys ?? [listOf(subject.bucket!)],
      ask: replica => replica.inOneState(subject, view => readReady(view, subject, read)),
      askPrimary,
    })
  }

  /** The primary's log. Replicas are judged by it, so every read of it goes through here. */
  async changes(after: Position, limit: number): Promise<LogPart> {
    const { reported } = this.replicas
    const part = await this.#changes(after, limit)
    const { entries, trimmedTo } = part
    const last = entries.at(-1)?.position ?? after
    if (after >= trimmedTo)
      this.replicas.follow(after, entries, entries.length < limit ? Math.max(last, reported) : last)
    return part
  }

  counts(): readonly ReadCount[] {
    return this.replicas.isEmpty ? [] : this.replicas.counts()
  }

  async close(): Promise<void> {
    await this.#underWay.settled()
    await this.replicas.close()
  }

  async #entriesAfter(after: Position, limit: number): Promise<readonly LogEntry[]> {
    const { entries, trimmedTo } = await this.changes(after, limit)
    if (after < trimmedTo) throw logTrimmed(after, trimmedTo)
    return entries.slice(0, limit)
  }

  #values(
    keys: readonly Key[],
    atLeast: Position | undefined,
  ): Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>> {
    if (this.replicas.isEmpty) return this.#primary.latest(keys, atLeast)
    return this.replicas.readEach<MaybePromise<StoredValue | undefined>>({
      atLeast,
      keys,
      ask: (replica, asked) => replica.values(asked),
      askPrimary: asked => this.#primary.latest(asked, atLeast),
    })
  }
}

/**
 * That an index is ready changes no object and is not in the log: a replica may not know it yet, and would read a whole
 * bucket instead.
 */
async function readReady<Result>(
  view: View,
  { bucket, query, expected }: Subject,
  read: (view: View) => Promise<Result>,
) {
  if (query === undefined || expected === 0) return read(view)
  const [result, { value }] = await Promise.all([read(view), view.indexes(bucket!)])
  if (value.indexes.some(({ isReady }) => !isReady)) throw new AskPrimary()
  return result
}
