/**
 * Records what this server acknowledged and answered, for the checker in `core/history`: the truth that readers are checked
 * against. Lists are not recorded, but each write names the bucket whose list it changes.
 */
import { randomBytes } from 'node:crypto'
import { cristianOffset } from '@freshet/core/clock'
import { HistoryRecorder } from '@freshet/core/history'
import type { Commit, CommitResult, Store } from '@freshet/core/store'
import { bucketOfKey, type Key, type Path, type Position, pathOfKey, type Version } from '@freshet/protocol'

export interface ServerRecordOptions {
  /** Receives the lines of the recording in order, without line breaks. It must not throw. */
  readonly write: (line: string) => void
  /** The share of objects that is recorded, from 0 to 1. Their names decide, so clients record the same objects. */
  readonly sample?: number
  /** Records hashes under this secret instead of paths. Clients need the same secret. */
  readonly hashPaths?: string
  /**
   * Which of how many servers over the same store this is, if all of them record. Then the checker knows that no write is
   * missing.
   */
  readonly part?: readonly [index: number, count: number]
}

export interface ServerRecorderParts {
  readonly store: Store
  /** Milliseconds that never go back, and the name of the clock. */
  readonly clock: { readonly id: string; readonly nowMs: () => number }
  /** The unique id of this recorder. */
  readonly id: string
}

const REPEAT_MS = 5000
/** The store's clock is read in whole milliseconds, rounded down. */
const STEP_US = 1000

export function createServerRecorder(options: ServerRecordOptions, store: Store): ServerRecorder {
  const name = () => randomBytes(6).toString('hex')
  return new ServerRecorder(options, { store, id: name(), clock: { id: name(), nowMs: () => performance.now() } })
}

export class ServerRecorder {
  readonly #parts: ServerRecorderParts
  readonly #history: HistoryRecorder
  readonly #part: ServerRecordOptions['part']
  #lastUs = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(options: ServerRecordOptions, parts: ServerRecorderParts) {
    this.#parts = parts
    this.#part = options.part
    this.#history = new HistoryRecorder({ ...options, clock: parts.clock.id })
  }

  /** Must be called before the first request. */
  async start(): Promise<void> {
    await this.#announce()
  }

  /** Ends the recording with a final line about the clock. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#announce()
  }

  /** Commits, and records the commit if it was made. */
  async commit(commit: Commit): Promise<CommitResult> {
    const beganUs = this.#nowUs()
    const result = await this.#parts.store.commit(commit)
    const changes = [...commit.writes, ...(commit.adds ?? [])]
    if (!result.committed || result.replayed || changes.length === 0) return result
    const deleted = commit.writes.filter(write => 'delete' in write).map(({ key }) => pathOfKey(key))
    const written = new Set(changes.flatMap(({ key }) => [pathOfKey(key), pathOfKey(bucketOfKey(key))]))
    for (const path of deleted) written.delete(path)
    const { position } = result
    const times = { beganUs, endedUs: this.#nowUs() }
    this.#history.write(this.#parts.id, { op: 'commit', ...times, position, written: [...written], deleted })
    this.#repeatSoon()
    return result
  }

  /** Records a read of one object that started at this time, by `performance.now()`; version 0 if the object does not exist. */
  answered(key: Key, version: Version, position: Position, beganMs: number): void {
    const path: Path = pathOfKey(key)
    const times = { beganUs: Math.floor(beganMs * 1000), endedUs: this.#nowUs() }
    this.#history.read(this.#parts.id, { path, ...times, withinMs: 0, version, position, servedFrom: 'origin' })
    this.#repeatSoon()
  }

  #nowUs(): number {
    this.#lastUs = Math.max(this.#lastUs + 1, Math.floor(this.#parts.clock.nowMs() * 1000))
    return this.#lastUs
  }

  #repeatSoon(): void {
    if (this.#timer !== undefined || this.#isStopped) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // A store that is being closed may fail here, which does not matter.
      this.#announce().catch(() => undefined)
    }, REPEAT_MS).unref()
  }

  async #announce(): Promise<void> {
    const { store, id } = this.#parts
    const pos = await store.position()
    const askedUs = this.#nowUs()
    const server = Math.floor(store.nowMs() * 1000)
    const atUs = this.#nowUs()
    const { least, most } = cristianOffset({ asked: askedUs, answered: atUs, server, serverStep: STEP_US })
    const part = this.#part === undefined ? {} : { part: this.#part }
    this.#history.session(id, store.log, atUs, { atUs, leastUs: least, mostUs: most }, { role: 'server', pos, ...part })
  }
}
