/**
 * Writes a file of a backup: everything in a store, or what has changed since a mark, while other clients write to it.
 *
 * On an embedded store it reads one snapshot, so every mark is an exact state. On an engine, pages come from different states, so
 * it follows the change log all the while and writes what changed again. When is what was written exactly one state? Say that
 * all changes up to E have been written, the last of them read in a state Q. The backup is the state at E if nothing in it is
 * newer than E. It is the state at Q if everything that changed between E and Q was just read, in that very state. Where neither
 * holds, the run continues until one does.
 */
import type { Key, LogEntry, Position } from '@freshet/core/store'
import type { StoreState } from '@freshet/engines/lmdb'
import { bucketOfKey, FreshetError, idOfKey } from '@freshet/protocol'
import type { LineWriter } from '../transfer/line-writer.js'
import { deleteLine, objectLine, recordLine } from '../transfer/object-lines.js'
import { BACKUP_FORMAT, type Head, type Mark } from './backup-folder.js'

export interface BackupRunOptions {
  readonly state: StoreState
  readonly writer: LineWriter
  readonly onProgress: (lines: number, bucket?: Key) => void
  readonly signal: AbortSignal
}

const MAX = {
  /** How many keys' values are in memory at once, unless one commit has more. */
  keys: 100,
  pageEntries: 100,
  gapEntries: 1000,
  /** A page ends after this number of steps, even if clients write faster than that. */
  stepsPerPage: 20,
  steps: 100_000,
}

export class BackupRun {
  readonly #options: BackupRunOptions
  /** All changes up to here have been written. */
  #reached: Position
  #entry: Position
  /** Nothing that has been written is newer than this. */
  #newest: Position = 0
  #lines = 0
  #linesMarked = 0

  private constructor(options: BackupRunOptions, reached: Position, entry: Position) {
    this.#options = options
    this.#reached = reached
    this.#entry = entry
  }

  /** Everything in the store. */
  static async full(options: BackupRunOptions): Promise<BackupRun> {
    const { state, writer } = options
    const run = new BackupRun(options, await state.position(), 0)
    await writer.write(JSON.stringify({ freshet: 'backup', format: BACKUP_FORMAT, kind: 'full', log: state.log }))
    for (const { bucket, version } of await state.buckets()) {
      run.#entry = Math.max(run.#entry, version)
      await run.#bucket(bucket)
    }
    await run.#settle()
    return run
  }

  /** The changes after a mark. */
  static async changes(options: BackupRunOptions, { position, entry }: Mark): Promise<BackupRun> {
    const run = new BackupRun(options, position, entry)
    const head: Head = {
      freshet: 'backup',
      format: BACKUP_FORMAT,
      kind: 'changes',
      log: options.state.log,
      from: position,
    }
    await options.writer.write(JSON.stringify(head))
    return run
  }

  get lines(): number {
    return this.#lines
  }

  get position(): Position {
    return this.#reached
  }

  /** Writes the changes so far, with marks; false if there were no changes. Throws LOG_TRIMMED. */
  async catchUp(): Promise<boolean> {
    const before = this.#lines
    for (;;) {
      const step = await this.#step()
      if (step !== 'behind' && this.#lines > this.#linesMarked) await this.mark()
      if (step === 'quiet') return this.#lines > before
    }
  }

  /** The mark is on disk when this resolves. */
  async mark(): Promise<Mark> {
    const { writer } = this.#options
    const mark: Mark = {
      position: this.#reached,
      entry: this.#entry,
      time: new Date().toISOString(),
      lines: this.#lines,
      sha256: writer.digest(),
    }
    await writer.write(JSON.stringify({ mark }))
    await writer.sync()
    this.#linesMarked = this.#lines
    return mark
  }

  async #bucket(bucket: Key): Promise<void> {
    const { state, signal, onProgress } = this.#options
    await this.#keys([bucket])
    for (let after: string | undefined, isEnd = false; !isEnd; ) {
      signal.throwIfAborted()
      const page = await state.scan(bucket, { limit: MAX.pageEntries, ...(after === undefined ? {} : { after }) })
      for (const { id, version, ...content } of page.entries) {
        await this.#write(objectLine(bucket, id, content, 'exact'))
        this.#newest = Math.max(this.#newest, version)
      }
      onProgress(this.#lines, bucket)
      after = page.next
      isEnd = after === undefined
      // Follow the log meanwhile, so that it is not trimmed before it is read.
      for (let steps = 0; steps < MAX.stepsPerPage && (await this.#step()) !== 'quiet'; ) steps++
    }
  }

  /** Continues until what has been written is one state. */
  async #settle(): Promise<void> {
    for (let steps = 0; steps < MAX.steps; steps++) if ((await this.#step()) !== 'behind') return
    throw new FreshetError(
      'SERVER_BUSY',
      'The same objects are written without a pause, so no single state could be read. Try again when the store is less busy.',
    )
  }

  /** Writes the keys of the next few commits. */
  async #step(): Promise<'quiet' | 'exact' | 'behind'> {
    const { state, signal } = this.#options
    signal.throwIfAborted()
    const entries = firstOf(await state.changes(this.#reached, MAX.keys))
    const last = entries.at(-1)
    // Nothing has changed since everything was read.
    if (last === undefined) return 'quiet'
    const keys = [...new Set(entries.flatMap(entry => entry.keys))]
    const seenAt = await this.#keys(keys)
    this.#entry = last.position
    this.#reached = last.position
    const gap = await state.changes(last.position, MAX.gapEntries)
    const between = gap.filter(({ position }) => position <= seenAt)
    const isAllKnown = gap.length < MAX.gapEntries || between.length < gap.length
    if (isAllKnown && between.every(entry => entry.keys.every(key => keys.includes(key)))) {
      this.#reached = seenAt
      this.#entry = between.at(-1)?.position ?? last.position
    }
    this.#options.onProgress(this.#lines)
    return this.#newest <= this.#reached ? 'exact' : 'behind'
  }

  /** Writes the present values; returns the position at which they were read. */
  async #keys(keys: readonly Key[]): Promise<Position> {
    const { state } = this.#options
    const { value, position } = await state.getMany(keys)
    for (const [i, key] of keys.entries()) {
      const found = value[i]
      const [bucket, id] = [bucketOfKey(key), idOfKey(key)]
      if (id === undefined) {
        const indexes = found && (await state.indexes(bucket)).map(({ name, fields }) => ({ name, fields }))
        await this.#write(recordLine(bucket, found, indexes?.length ? indexes : undefined))
      } else await this.#write(found === undefined ? deleteLine(bucket, id) : objectLine(bucket, id, found, 'exact'))
      // The time of a deletion is unknown, but it was before this state.
      this.#newest = Math.max(this.#newest, found?.version ?? position)
    }
    return position
  }

  async #write(line: string): Promise<void> {
    this.#lines++
    await this.#options.writer.write(line)
  }
}

/** As many commits as have few enough keys in all, but at least one. */
function firstOf(entries: readonly LogEntry[]): readonly LogEntry[] {
  let keys = 0
  const end = entries.findIndex((entry, i) => {
    keys += entry.keys.length
    return i > 0 && keys > MAX.keys
  })
  return end === -1 ? entries : entries.slice(0, end)
}
