/**
 * Copies all of one store into another, while the first is in use: what is there bucket by bucket, then what has changed meanwhile,
 * from the change log; then both are compared, and what differs is copied again. How far it is stands in the target: killed at
 * any time, it goes on from there.
 *
 * Versions are the target's own, and so is its log: sessions start over when they find themselves at another store. What is
 * remembered of operations is not copied.
 */
import type { IndexDeclaration, Key, Position, Store, StoredValue, Write } from '@freshet/core/store'
import { FreshetError, idOfKey } from '@freshet/protocol'
import { differingKeys, isSame } from './compare-stores.js'

export interface CopyOptions {
  readonly from: Store
  readonly to: Store
  readonly onProgress: (progress: CopyProgress) => void
  /** Ends it between two steps. */
  readonly signal?: AbortSignal
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
}

const CURSOR = 'copy'
const PAGE = 200
const CHANGES = 1000
const COMPARISONS_MAX = 10

export async function copyStore(options: CopyOptions): Promise<CopyReport> {
  return new Copying(options).run()
}

/** For whoever goes on after it: takes over what has changed since. */
export async function followStore(options: CopyOptions): Promise<number> {
  return new Copying(options).catchUp()
}

class Copying {
  readonly #options: CopyOptions
  #copied = 0

  constructor(options: CopyOptions) {
    this.#options = options
  }

  async run(): Promise<CopyReport> {
    const cursor = await this.#begin()
    if (cursor.at !== undefined) await this.#copyAll(cursor)
    await this.catchUp()
    const { compared, repaired } = await this.#compare()
    const { position } = (await this.#read())!
    return { copied: this.#copied, compared, repaired, position }
  }

  async #begin(): Promise<Cursor> {
    const { from, to } = this.#options
    const known = await this.#read()
    if (known?.log === from.log) return known
    if (known !== undefined || (await to.buckets()).length > 0) throw notEmpty()
    return this.#note({ log: from.log, position: await from.position(), at: { bucket: '' } })
  }

  async #copyAll({ log, position, at }: Cursor): Promise<void> {
    const { from } = this.#options
    for (const { bucket } of await from.buckets()) {
      if (bucket < at!.bucket) continue
      let after = bucket === at!.bucket ? at!.after : undefined
      if (after === undefined) await this.#write([bucket])
      for (let isEnd = false; !isEnd; ) {
        this.#options.signal?.throwIfAborted()
        this.#options.onProgress({ phase: 'copying', done: this.#copied, bucket })
        const page = await from.scan(bucket, { limit: PAGE, ...(after === undefined ? {} : { after }) })
        await this.#put(page.entries.map(({ id, ...value }) => [`${bucket}/${id}`, value]))
        after = page.next
        isEnd = after === undefined
        if (after !== undefined) await this.#note({ log, position, at: { bucket, after } })
      }
    }
    await this.#note({ log, position })
  }

  /** How many keys had changed. */
  async catchUp(): Promise<number> {
    const { from, onProgress, signal } = this.#options
    let count = 0
    for (;;) {
      signal?.throwIfAborted()
      const { log, position } = (await this.#read())!
      const entries = await this.#changesAfter(position)
      const last = entries.at(-1)
      if (last === undefined) return count
      const keys = [...new Set(entries.flatMap(entry => entry.keys))]
      for (let start = 0; start < keys.length; start += PAGE) await this.#write(keys.slice(start, start + PAGE))
      count += keys.length
      onProgress({ phase: 'catching up', done: this.#copied })
      await this.#note({ log, position: last.position })
      if (last.position >= (await from.position())) return count
    }
  }

  /** If what changed is not known any more, the comparison will find it. */
  async #changesAfter(position: Position) {
    const { from } = this.#options
    try {
      return await from.changes(position, CHANGES)
    } catch (error) {
      if (!(error instanceof FreshetError) || error.code !== 'LOG_TRIMMED') throw error
      return from.changes(await from.trimmedTo(), CHANGES)
    }
  }

  /** Until nothing differs but what is being written at this moment, which the log tells of. */
  async #compare(): Promise<{ readonly compared: number; readonly repaired: number }> {
    const { from, to, onProgress, signal } = this.#options
    let repaired = 0
    for (let turn = 1; ; turn++) {
      let compared = 0
      const differing: Key[] = []
      for await (const step of differingKeys(from, to)) {
        signal?.throwIfAborted()
        compared += step.compared
        differing.push(...step.differing)
        onProgress({ phase: 'comparing', done: compared, bucket: step.bucket })
      }
      // Some of it has changed while it was being compared.
      await this.catchUp()
      const still = await this.#stillDiffering(differing)
      if (still.length === 0) return { compared, repaired }
      if (turn === COMPARISONS_MAX) throw neverTheSame(still)
      for (let start = 0; start < still.length; start += PAGE) await this.#write(still.slice(start, start + PAGE))
      repaired += still.length
    }
  }

  async #stillDiffering(keys: readonly Key[]): Promise<Key[]> {
    const { from, to } = this.#options
    const differing: Key[] = []
    for (let start = 0; start < keys.length; start += PAGE) {
      const part = keys.slice(start, start + PAGE)
      const [there, here] = await Promise.all([from.getMany(part), to.getMany(part)])
      differing.push(...part.filter((_, i) => !isSame(there.value[i], here.value[i])))
    }
    return differing
  }

  /** What the source has of these keys now. */
  async #write(keys: readonly Key[]): Promise<void> {
    const { value: values } = await this.#options.from.getMany(keys)
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
    if (writes.length > 0) await this.#options.to.commit({ writes })
    this.#copied += writes.length
  }

  /** Of a bucket's own record. */
  async #indexesOf(key: Key): Promise<{ readonly indexes?: readonly IndexDeclaration[] }> {
    const { from, to } = this.#options
    if (idOfKey(key) !== undefined || !from.supports.queries || !to.supports.queries) return {}
    const indexes = (await from.indexes(key)).map(({ name, fields }) => ({ name, fields }))
    return { indexes }
  }

  async #read(): Promise<Cursor | undefined> {
    const record = await this.#options.to.recall(CURSOR)
    return record && (JSON.parse(new TextDecoder().decode(record)) as Cursor)
  }

  async #note(cursor: Cursor): Promise<Cursor> {
    await this.#options.to.remember(CURSOR, new TextEncoder().encode(JSON.stringify(cursor)))
    return cursor
  }
}

function notEmpty(): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    'There is something in the target that was not copied from this source. Choose an empty one.',
  )
}

function neverTheSame(keys: readonly Key[]): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    `The target does not become the same: ${keys.length} keys differ after ${COMPARISONS_MAX} comparisons, such as ${keys[0]}. ` +
      'Does somebody else write to it?',
  )
}
