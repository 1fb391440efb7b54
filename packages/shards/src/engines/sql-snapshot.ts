/** A snapshot of a shard that stays open until it is closed, and the rows of one query in it, piece by piece. */
import type {
  CursorOptions,
  ShardCursor,
  ShardSnapshot,
  ShardVersions,
  SnapshotRequest,
  Statement,
} from '../plan/index.js'
import { inTime, type LentSession, type SessionCursor, type SessionResult } from './session-pool.js'
import type { ShardEngine } from './shard-engine.js'
import { refusedBy, telling } from './shard-errors.js'

type Tell = <Result>(work: () => Promise<Result>) => Promise<Result>

/** How long a transaction may take to end before its connection is cut. */
const END_MS = 1000

export interface SnapshotOptions extends SnapshotRequest {
  readonly shard: string
  readonly engine: ShardEngine
  /** The statement that reads the versions. */
  readonly versions: string
  readonly versionsOf: (result: SessionResult) => ShardVersions
}

export async function openSnapshot(options: SnapshotOptions): Promise<ShardSnapshot> {
  const { engine, shard, timeoutMs } = options
  const deadlineMs = performance.now() + timeoutMs
  const tell = <Result>(work: () => Promise<Result>) => telling(shard, engine, refusedBy('SQL_INVALID', shard), work)
  return tell(async () => {
    const lent = await engine.pool.lend(timeoutMs)
    try {
      const known = await inTime(begin(lent, options), deadlineMs - performance.now(), timeoutMs)
      return new SqlSnapshot(lent, known, tell)
    } catch (error) {
      lent.giveBack(false)
      throw error
    }
  })
}

async function begin(
  { session }: LentSession,
  { engine, tables, heldMsMax, versions, versionsOf }: SnapshotOptions,
): Promise<ShardVersions> {
  // All are sent at once; the error of the first that fails is thrown.
  const results = await Promise.all([
    session.run(engine.beginRead),
    session.run(engine.prepareLongRead(heldMsMax)),
    ...(tables.length > 0 ? [session.run(engine.lockSchemas(tables))] : []),
    session.run(versions),
  ])
  return versionsOf(results.at(-1)!)
}

class SqlSnapshot implements ShardSnapshot {
  readonly versions: ShardVersions['versions']
  readonly applied: number
  readonly isChanging: boolean
  readonly #lent: LentSession
  readonly #tell: Tell
  #cursor: SessionCursor | undefined
  /** No call has failed, and none is under way. */
  #isWell = true
  #closing: Promise<void> | undefined

  constructor(lent: LentSession, { versions, applied, isChanging }: ShardVersions, tell: Tell) {
    this.versions = versions
    this.applied = applied
    this.isChanging = isChanging
    this.#lent = lent
    this.#tell = tell
  }

  async query({ text, values }: Statement, { timeoutMs, bytesMax }: CursorOptions): Promise<ShardCursor> {
    const cursor = await this.#within(timeoutMs, () => this.#lent.session.openCursor(text, values, bytesMax))
    this.#cursor = cursor
    return { types: cursor.types, next: () => this.#within(timeoutMs, () => cursor.next()) }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const { session, giveBack } = this.#lent
    const isIdle = this.#isWell && session.isAlive && (this.#cursor?.isIdle ?? true)
    if (!isIdle) return giveBack(false)
    try {
      await inTime(session.run('COMMIT'), END_MS)
      giveBack(true)
    } catch {
      giveBack(false)
    }
  }

  #within<Result>(timeoutMs: number, work: () => Promise<Result>): Promise<Result> {
    return this.#tell(async () => {
      this.#isWell = false
      const result = await inTime(work(), timeoutMs)
      this.#isWell = true
      return result
    })
  }
}
