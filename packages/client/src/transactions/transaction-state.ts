/** What a transaction has read, and what it will write. */
import {
  type CommitRequest,
  type CommitWrite,
  FreshetError,
  type IdRange,
  type LeasedObject,
  type ListRead,
  type Path,
  type Place,
  type Tag,
  type Version,
} from '@freshet/protocol'
import { attachFacts, factsOf, versionOf } from '../buckets/stored.js'
import { mergePatch, mergePatchOf } from '../json/merge-patch.js'

interface Item {
  readonly bucket: Path
  readonly id: string
  /** The version that must still hold at the commit; 0: absent. Undefined if the object was only listed or written. */
  version: Version | undefined
  /** The object as it was read. */
  readonly stored: object | undefined
  /** What the transaction sees: as it read or wrote the object; undefined: absent. */
  value: object | undefined
  write: CommitWrite | undefined
}

/** An object that a transaction sees. */
export interface Seen {
  readonly id: string
  readonly value: object
}

/** The facts of an object that the transaction wrote itself: it is not stored yet. */
const OWN = { version: 0, served: { from: 'memory', ageS: undefined, at: undefined, version: undefined } } as const

/** The most decimals that a counter may have. */
export const DECIMALS_MAX = 9

export class TransactionState {
  readonly #items = new Map<Path, Item>()
  readonly #written = new Set<Item>()
  readonly #lists: ListRead[] = []
  readonly #additions = new Map<Path, number>()
  readonly #given: ReadonlyMap<Path, LeasedObject>
  /** Where the pages that were returned ended: the cursor for the server, and the place after which to continue. */
  readonly cursors: Map<string, { readonly after: string | undefined; readonly place?: Place | undefined }> = new Map()

  /** `given`: objects that came with a lease, so that they need not be read. */
  constructor(given: readonly LeasedObject[] = []) {
    this.#given = new Map(given.map(object => [object.path, object]))
  }

  /** Whether later reads of the path are answered from here. */
  knows(path: Path): boolean {
    return this.#items.has(path)
  }

  given(path: Path): LeasedObject | undefined {
    return this.#given.get(path)
  }

  valueOf(path: Path): object | undefined {
    return this.#items.get(path)?.value
  }

  /** The value that a read returns: a copy that the caller may change. Objects that the transaction wrote have version 0. */
  show(path: Path): object | undefined {
    const item = this.#items.get(path)
    if (item?.value === undefined) return undefined
    const { version, served } = item.write === undefined ? factsOf(item.value) : OWN
    return attachFacts(structuredClone(item.value), { id: item.id, version, served })
  }

  /** What the transaction wrote to a bucket; an undefined value means deleted. */
  writesTo(bucket: Path): readonly { readonly id: string; readonly value: object | undefined }[] {
    return [...this.#written].filter(item => item.bucket === bucket)
  }

  /** The first read counts: if a later one differs, one of them is outdated, and the commit will show that. */
  read(bucket: Path, id: string, path: Path, version: Version, stored: object | undefined): void {
    if (!this.#items.has(path)) this.#add(path, { bucket, id, version, stored })
  }

  /** The condition on the list covers the objects in it. */
  listed(bucket: Path, id: string, path: Path, stored: object): void {
    if (!this.#items.has(path)) this.#add(path, { bucket, id, version: undefined, stored })
  }

  /**
   * Requires this version at the commit. Throws VERSION_CONFLICT if the transaction has seen another version. An object that the
   * transaction wrote itself has no version yet.
   */
  require(bucket: Path, id: string, path: Path, wanted: Version): void {
    const item = this.#items.get(path) ?? this.#add(path, { bucket, id, version: wanted, stored: undefined })
    if (item.write !== undefined) {
      if (wanted !== 0 || item.value !== undefined) throw otherVersion(path, wanted, undefined)
      return
    }
    const version = versionRead(item)
    if (version !== wanted) throw otherVersion(path, wanted, version)
    item.version = version
  }

  list(read: ListRead): void {
    this.#lists.push(read)
  }

  write(bucket: Path, id: string, write: CommitWrite, value: object | undefined): void {
    const item =
      this.#items.get(write.path) ?? this.#add(write.path, { bucket, id, version: undefined, stored: undefined })
    this.#written.add(Object.assign(item, { write, value }))
  }

  /**
   * Patches an object that the transaction sees. The server applies the patch to the stored object, which must be the one read.
   */
  patch(path: Path, patch: Readonly<Record<string, unknown>>): void {
    const item = this.#items.get(path)!
    const value = mergePatch(item.value, patch)
    const { write, stored } = item
    if (write === undefined) item.version = versionRead(item)
    const whole = write === undefined ? patch : 'patch' in write ? mergePatchOf({ ...stored }, value) : undefined
    this.write(item.bucket, item.id, whole === undefined ? { path, value } : { path, patch: whole }, value)
  }

  /** Adds up, rounded to the most decimals that a counter may have: 0.1 + 0.2 is 0.3. */
  add(path: Path, by: number): void {
    this.#additions.set(path, Number(((this.#additions.get(path) ?? 0) + by).toFixed(DECIMALS_MAX)))
  }

  request(): CommitRequest {
    const items = [...this.#items]
    const reads = items.flatMap(([path, { version }]) => (version === undefined ? [] : [{ path, version }]))
    const additions = [...this.#additions].map(([path, add]) => ({ path, add }))
    return {
      ...(reads.length === 0 ? {} : { reads }),
      ...(this.#lists.length === 0 ? {} : { lists: this.#lists }),
      writes: [...items.flatMap(([, { write }]) => (write === undefined ? [] : [write])), ...additions],
    }
  }

  #add(path: Path, read: Omit<Item, 'value' | 'write'>): Item {
    const item = { ...read, value: read.stored, write: undefined }
    this.#items.set(path, item)
    return item
  }
}

/** The version of an object that was read or listed. */
function versionRead({ version, stored }: Item): Version {
  return version ?? (stored === undefined ? 0 : versionOf(stored))
}

function otherVersion(path: Path, wanted: Version, version: Version | undefined): FreshetError {
  const what =
    wanted === 0
      ? 'already exists, so it cannot be created. Use put.'
      : `does not have version ${wanted} in this transaction.`
  return new FreshetError('VERSION_CONFLICT', `${path} ${what}`, {
    details: { path, ...(version === undefined ? {} : { version }) },
  })
}

/** The part of a range that one of its pages has shown. */
export function listRead(path: Path, version: Version, range: IdRange, after?: string, through?: string): ListRead {
  return {
    path,
    version,
    ...range,
    ...(after === undefined ? {} : { after }),
    ...(through === undefined ? {} : { through }),
  }
}

/** The condition that a query's result still holds: nothing with one of these tags has changed, or nothing in the bucket. */
export function queryRead(path: Path, version: Version, tags: readonly Tag[] | undefined): ListRead {
  return { path, version, ...(tags === undefined ? {} : { tags }) }
}
