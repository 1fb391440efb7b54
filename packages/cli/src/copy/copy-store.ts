/**
 * Copies one store into another while the first is in use: its content bucket by bucket, then what has changed meanwhile, from
 * the change log; then both are compared, and what differs is copied again. The progress is stored in the target: killed at any
 * time, the copy continues from there.
 *
 * The log is read every few seconds all the while, because the source trims it after some minutes. What was compared stays the
 * same as long as the log has reported every change since. If the log was trimmed before it was read (the copy was stopped, or
 * is too slow), the changes are unknown: then everything is compared once more.
 *
 * Versions are the target's own, and so is its log: sessions start over when they find another store. The record of operations is
 * not copied.
 */
import {
  compareUtf8,
  type IndexDeclaration,
  type Key,
  type LogEntry,
  type Position,
  type Store,
  type StoredValue,
  type Write,
} from '@freshet/core/store'
import type { StoreState } from '@freshet/engines/lmdb'
import { FreshetError, idOfKey } from '@freshet/protocol'
import { differingKeys, isSame } from './compare-stores.js'
import { oneStore } from './copy-line.js'
import { refuseForeignWrites } from './foreign-write.js'
import { PageSize } from './page-size.js'
import { writeTarget } from './write-target.js'

export interface CopyOptions {
  readonly from: StoreState
  readonly to: Store
  readonly onProgress: (progress: CopyProgress) => void
  /** Stops the copy between two steps. */
  readonly signal?: AbortSignal
  /** How often changes are copied during copying and comparing; the default is 2000. */
  readonly catchUpMs?: number
}

export interface CopyProgress {
  readonly phase: 'copying' | 'catching up' | 'comparing'
  /** The number of objects so far. */
  readonly done: number
  readonly bucket?: Key
}

export interface CopyReport {
  /** Keys written to the target by this run. */
  readonly copied: number
  readonly compared: number
  /** Keys that differed when both stores were compared, and were copied again. */
  readonly repaired: number
  /** The source's position up to which the target includes all changes. */
  readonly position: Position
}

interface Cursor {
  /** The source's log. */
  readonly log: string
  /** Everything in the target includes the changes up to here. */
  readonly position: Position
  /** How far the copying has come; undefined once everything has been copied. */
  readonly at?: { readonly bucket: Key; readonly after?: string }
  /** The target's position of the last commit of the copy before this was stored. */
  readonly written?: Position
}

const CURSOR = 'copy'
const PAGE_MAX = 200
const CHANGES = 1000
/** How many keys that seem to differ are examined together. */
const DIFFERING = 1000
const COMPARISONS_MAX = 10
const CATCH_UP_MS = 2000

export function copyStore(options: CopyOptions): Promise<CopyReport> {
  return new StoreCopy(options).run()
}

export class StoreCopy {
  readonly #options: CopyOptions
  #cursor: Cursor = { log: '', position: 0 }
  readonly #page = new PageSize(PAGE_MAX)
  #copied = 0
  #caughtUpMs = 0
  /** How often the log was trimmed before it was read: what was compared before may differ. */
  #gaps = 0
  /** The number of gaps before the last full comparison. */
  #gapsCompared = 0
  #isFinishing = false
  /** The last commit to the target; undefined if the copy was begun by a version that did not store it. */
  #written: Position | undefined

  constructor(options: CopyOptions) {
    this.#options = options
  }

  async run(): Promise<CopyReport> {
    this.#cursor = await this.#begin()
    this.#written ??= this.#cursor.written
    await this.#checkTarget()
    await this.#takeChanges()
    if (this.#cursor.at !== undefined) await this.#copyAll(this.#cursor.at)
    return this.#compare()
  }

  /**
   * After `run`: copies what has changed since. If the source has trimmed some of that from its log, everything is compared
   * again, and the report of that comparison is returned.
   */
  async follow(): Promise<CopyReport | undefined> {
    await this.#takeChanges()
    return this.#gaps > this.#gapsCompared ? this.#compare() : undefined
  }

  /** The last run of `follow`, even after the signal: copies everything that the source has now. */
  async finish(): Promise<{ readonly position: Position; readonly compared: CopyReport | undefined }> {
    this.#isFinishing = true
    const compared = await this.follow()
    return { position: this.#cursor.position, compared }
  }

  async #begin(): Promise<Cursor> {
    const { from, to } = this.#options
    if (from.log === to.log) throw oneStore()
    const known = await this.#read()
    const position = await from.position()
    // After a power cut the source may be at an earlier position than was seen; the comparison finds what that changed.
    if (known?.log === from.log) return { ...known, position: Math.min(known.position, position) }
    if (known !== undefined || (await to.buckets()).length > 0) throw notEmpty()
    this.#written = await to.position()
    return this.#note({ log: from.log, position, at: { bucket: '' } })
  }

  async #copyAll(at: NonNullable<Cursor['at']>): Promise<void> {
    const buckets = (await this.#options.from.buckets()).map(({ bucket }) => bucket).sort(compareUtf8)
    for (const bucket of buckets) {
      const order = compareUtf8(bucket, at.bucket)
      if (order >= 0) await this.#copyBucket(bucket, order === 0 ? at.after : undefined)
    }
    const { log, position } = this.#cursor
    await this.#note({ log, position })
  }

  async #copyBucket(bucket: Key, begin: string | undefined): Promise<void> {
    const { from, onProgress } = this.#options
    let after = begin
    if (after === undefined) await this.#write([bucket])
    for (let isEnd = false; !isEnd; ) {
      await this.#keepUp()
      onProgress({ phase: 'copying', done: this.#copied, bucket })
      const page = await from.scan(bucket, { limit: this.#page.limit, ...(after === undefined ? {} : { after }) })
      this.#page.note(page.entries)
      await this.#put(page.entries.map(({ id, ...value }) => [`${bucket}/${id}`, value]))
      after = page.next
      isEnd = after === undefined
      if (after !== undefined) await this.#note({ ...this.#cursor, at: { bucket, after } })
    }
  }

  /** Called between any two steps. */
  async #keepUp(): Promise<void> {
    this.#throwIfStopped()
    const { catchUpMs = CATCH_UP_MS } = this.#options
    if (performance.now() - this.#caughtUpMs >= catchUpMs) await this.#takeChanges()
  }

  #throwIfStopped(): void {
    if (!this.#isFinishing) this.#options.signal?.throwIfAborted()
  }

  /** Copies everything that has changed until now. */
  async #takeChanges(onKeys: (keys: readonly Key[]) => void = () => undefined): Promise<void> {
    const { from, onProgress } = this.#options
    from.renew?.()
    if (from.log !== this.#cursor.log) throw replaced()
    // Later changes are left for the next call: they may never end.
    const until = await from.position()
    while (this.#cursor.position < until) {
      this.#throwIfStopped()
      const entries = await this.#changes()
      const keys = [...new Set(entries.flatMap(entry => entry.keys))]
      for (const part of this.#parts(keys)) await this.#write(part)
      onKeys(keys)
      if (keys.length > 0) onProgress({ phase: 'catching up', done: this.#copied })
      // If no entry follows, the log has no entries up to `until`.
      await this.#note({ ...this.#cursor, position: entries.at(-1)?.position ?? until })
    }
    this.#caughtUpMs = performance.now()
  }

  /** The next log entries; a trimmed part is skipped and counted as a gap. */
  async #changes(): Promise<readonly LogEntry[]> {
    const { from } = this.#options
    for (;;) {
      try {
        return await from.changes(this.#cursor.position, CHANGES)
      } catch (error) {
        if (!(error instanceof FreshetError) || error.code !== 'LOG_TRIMMED') throw error
        this.#gaps++
        await this.#note({ ...this.#cursor, position: await from.trimmedTo() })
      }
    }
  }

  /** Repeats until nothing differs except what is being written at this moment, which the log reports. */
  async #compare(): Promise<CopyReport> {
    let repaired = 0
    for (let turn = 1; ; turn++) {
      const gaps = this.#gaps
      const found = await this.#compareOnce()
      repaired += found.repaired.length
      if (found.repaired.length === 0 && this.#gaps === gaps) {
        this.#gapsCompared = gaps
        return { copied: this.#copied, compared: found.compared, repaired, position: this.#cursor.position }
      }
      if (turn === COMPARISONS_MAX) throw this.#gaps > gaps ? neverCaughtUp() : neverTheSame(found.repaired)
    }
  }

  async #compareOnce(): Promise<{ readonly compared: number; readonly repaired: readonly Key[] }> {
    const { from, to, onProgress } = this.#options
    let compared = 0
    const differing: Key[] = []
    const repaired: Key[] = []
    for await (const step of differingKeys(from, to)) {
      compared += step.compared
      differing.push(...step.differing)
      onProgress({ phase: 'comparing', done: compared, bucket: step.bucket })
      if (differing.length >= DIFFERING) repaired.push(...(await this.#repair(differing.splice(0))))
      await this.#keepUp()
    }
    repaired.push(...(await this.#repair(differing)))
    return { compared, repaired }
  }

  /** Returns the keys that really differed: not those that the log reports, from before or after they were examined again. */
  async #repair(keys: readonly Key[]): Promise<readonly Key[]> {
    await this.#takeChanges()
    const seeming = await this.#stillDiffering(keys)
    if (seeming.length === 0) return []
    const real = new Set(seeming)
    await this.#takeChanges(changed => {
      for (const key of changed) real.delete(key)
    })
    if (real.size === 0) return []
    await this.#checkTarget()
    for (const part of this.#parts([...real])) await this.#write(part)
    await this.#note(this.#cursor)
    return [...real]
  }

  async #stillDiffering(keys: readonly Key[]): Promise<Key[]> {
    const { from, to } = this.#options
    const differing: Key[] = []
    for (const part of this.#parts(keys)) {
      const [there, here] = await Promise.all([from.getMany(part), to.getMany(part)])
      this.#page.note(there.value)
      differing.push(...part.filter((_, i) => !isSame(there.value[i], here.value[i])))
    }
    return differing
  }

  *#parts(keys: readonly Key[]): Generator<readonly Key[]> {
    for (let start = 0, end: number; start < keys.length; start = end) {
      end = start + this.#page.limit
      yield keys.slice(start, end)
    }
  }

  /** Writes the source's present values of these keys. */
  async #write(keys: readonly Key[]): Promise<void> {
    const { value: values } = await this.#options.from.getMany(keys)
    this.#page.note(values)
    await this.#put(keys.map((key, i) => [key, values[i]]))
  }

  async #put(
    entries: readonly (readonly [key: Key, value: Omit<StoredValue, 'version'> | undefined])[],
  ): Promise<void> {
    const writes: Write[] = []
    for (const [key, value] of entries) {
      if (value === undefined) writes.push({ key, delete: true })
      else writes.push({ key, contentType: value.contentType, body: value.body, ...(await this.#indexesOf(key)) })
    }
    this.#written = (await writeTarget(this.#options.to, writes)) ?? this.#written
    this.#copied += writes.length
  }

  /** The indexes to write with a bucket's own record. */
  async #indexesOf(key: Key): Promise<{ readonly indexes?: readonly IndexDeclaration[] }> {
    if (idOfKey(key) !== undefined) return {}
    const indexes = (await this.#options.from.indexes(key)).map(({ name, fields }) => ({ name, fields }))
    return { indexes }
  }

  async #read(): Promise<Cursor | undefined> {
    const record = await this.#options.to.recall(CURSOR)
    return record && (JSON.parse(new TextDecoder().decode(record)) as Cursor)
  }

  /** Called before anything in the target is taken for outdated. */
  async #checkTarget(): Promise<void> {
    const { from, to } = this.#options
    const { position } = this.#cursor
    if (this.#written !== undefined) await refuseForeignWrites({ from, to, position, written: this.#written })
  }

  async #note(next: Cursor): Promise<Cursor> {
    const cursor = this.#written === undefined ? next : { ...next, written: this.#written }
    await this.#options.to.remember(CURSOR, new TextEncoder().encode(JSON.stringify(cursor)))
    this.#cursor = cursor
    return cursor
  }
}

function notEmpty(): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    'The target holds data that was not copied from this source. Choose an empty target.',
  )
}

function replaced(): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    'The source has a new change log: it was replaced by another store, or has lost writes. Copy it into an empty target.',
  )
}

function neverTheSame(keys: readonly Key[]): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    `The target does not become the same: ${keys.length} keys, such as ${keys[0]}, still differ after ${COMPARISONS_MAX} comparisons. ` +
      'Check whether another client writes to the target.',
  )
}

function neverCaughtUp(): FreshetError {
  return new FreshetError(
    'LOG_TRIMMED',
    `In each of ${COMPARISONS_MAX} comparisons, the source trimmed its change log before the changes could be copied. ` +
      'Run the same command again when there are fewer writes, or on a machine nearer to both stores.',
  )
}
