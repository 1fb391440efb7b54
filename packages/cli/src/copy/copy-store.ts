/**
 * Copies all of one store into another, while the first is in use: what is there bucket by bucket, then what has changed meanwhile,
 * from the change log; then both are compared, and what differs is copied again. How far it is stands in the target: killed at
 * any time, it goes on from there.
 *
 * The log is read every few seconds all the while, for the source forgets it after some minutes. What was compared before is the same
 * as long as the log has told of every change since. Where it was trimmed before it was read (the copier was stopped, or is too
 * slow), nobody knows what changed: then all is compared once more.
 *
 * Versions are the target's own, and so is its log: sessions start over when they find themselves at another store. What is
 * remembered of operations is not copied.
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
  /** Ends it between two steps. */
  readonly signal?: AbortSignal
  /** So often what has changed is taken over while it copies and compares; 2000 unless given. */
  readonly catchUpMs?: number
}

export interface CopyProgress {
  readonly phase: 'copying' | 'catching up' | 'comparing'
  /** So many objects in all. */
  readonly done: number
  readonly bucket?: Key
}

export interface CopyReport {
  /** Written to the target, by this run. */
  readonly copied: number
  readonly compared: number
  /** What differed when both were compared, and was copied again. */
  readonly repaired: number
  /** The source's, that the target includes. */
  readonly position: Position
}

interface Cursor {
  /** Of the source. */
  readonly log: string
  /** The target includes what changed up to here in all that it has. */
  readonly position: Position
  /** Where the copying is; undefined when all has been. */
  readonly at?: { readonly bucket: Key; readonly after?: string }
  /** Of the target: the last commit of the copy before this was noted. */
  readonly written?: Position
}

const CURSOR = 'copy'
const PAGE_MAX = 200
const CHANGES = 1000
/** So many keys that seem to differ are looked at together. */
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
  /** After so many of these all was compared. */
  #gapsCompared = 0
  #isFinishing = false
  /** The last commit to the target; undefined if a version that did not note it had begun. */
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
   * After `run`: takes over what has changed since. If the source has forgotten some of that, all is compared again, and this is what came
   * of it.
   */
  async follow(): Promise<CopyReport | undefined> {
    await this.#takeChanges()
    return this.#gaps > this.#gapsCompared ? this.#compare() : undefined
  }

  /** The last time, also after the signal: all that the source has now is in the target then. */
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
    // A source that the power failed may be back at an earlier position than was seen; the comparison finds what that changed.
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

  /** Between any two steps. */
  async #keepUp(): Promise<void> {
    this.#throwIfStopped()
    const { catchUpMs = CATCH_UP_MS } = this.#options
    if (performance.now() - this.#caughtUpMs >= catchUpMs) await this.#takeChanges()
  }

  #throwIfStopped(): void {
    if (!this.#isFinishing) this.#options.signal?.throwIfAborted()
  }

  /** Takes over all that has changed until now. */
  async #takeChanges(onKeys: (keys: readonly Key[]) => void = () => undefined): Promise<void> {
    const { from, onProgress } = this.#options
    from.renew?.()
    if (from.log !== this.#cursor.log) throw replaced()
    // Not what comes later: there may be no end of that.
    const until = await from.position()
    while (this.#cursor.position < until) {
      this.#throwIfStopped()
      const entries = await this.#changes()
      const keys = [...new Set(entries.flatMap(entry => entry.keys))]
      for (const part of this.#parts(keys)) await this.#write(part)
      onKeys(keys)
      if (keys.length > 0) onProgress({ phase: 'catching up', done: this.#copied })
      // Where no entry follows there is none up to there.
      await this.#note({ ...this.#cursor, position: entries.at(-1)?.position ?? until })
    }
    this.#caughtUpMs = performance.now()
  }

  /** The next of the log; what is not known any more is left out, and noticed. */
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

  /** Until nothing differs but what is being written at this moment, which the log tells of. */
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

  /** Which of them really differed: not those that the log tells of, before they were looked at again or since. */
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

  /** What the source has of these keys now. */
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

  /** Of a bucket's own record. */
  async #indexesOf(key: Key): Promise<{ readonly indexes?: readonly IndexDeclaration[] }> {
    if (idOfKey(key) !== undefined) return {}
    const indexes = (await this.#options.from.indexes(key)).map(({ name, fields }) => ({ name, fields }))
    return { indexes }
  }

  async #read(): Promise<Cursor | undefined> {
    const record = await this.#options.to.recall(CURSOR)
    return record && (JSON.parse(new TextDecoder().decode(record)) as Cursor)
  }

  /** Before anything in it is taken for outdated. */
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
    'There is something in the target that was not copied from this source. Choose an empty one.',
  )
}

function replaced(): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    'The source has a new change log: it was put in the place of another, or has lost writes. Copy it into an empty target.',
  )
}

function neverTheSame(keys: readonly Key[]): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    `The target does not become the same: ${keys.length} keys differ after ${COMPARISONS_MAX} comparisons, such as ${keys[0]}. ` +
      'Does somebody else write to it?',
  )
}

function neverCaughtUp(): FreshetError {
  return new FreshetError(
    'LOG_TRIMMED',
    `The source forgets what has changed before it can be copied: that was so in each of ${COMPARISONS_MAX} comparisons. ` +
      'Run the same command again when less is written, or nearer to both stores.',
  )
}
