/** What a transaction has read, and what it is to write. */
import type { CommitRequest, CommitWrite, IdRange, LeasedObject, ListRead, Path, Tag, Version } from '@freshet/protocol'

interface Item {
  readonly bucket: Path
  readonly id: string
  /** As read by itself; 0: it was not there. Undefined if it was only listed or written. */
  version: Version | undefined
  isListed: boolean
  /** What the transaction sees: as read, or as it wrote it; undefined: not there. */
  value: object | undefined
  write: CommitWrite | undefined
}

const DECIMALS_MAX = 9

export class TransactionState {
  readonly #items = new Map<Path, Item>()
  readonly #lists: ListRead[] = []
  readonly #additions = new Map<Path, number>()
  readonly #given: ReadonlyMap<Path, LeasedObject>

  /** `given`: what it need not read, since it was told. */
  constructor(given: readonly LeasedObject[] = []) {
    this.#given = new Map(given.map(object => [object.path, object]))
  }

  /** Whether later reads of it are answered from here. */
  knows(path: Path): boolean {
    return this.#items.has(path)
  }

  given(path: Path): LeasedObject | undefined {
    return this.#given.get(path)
  }

  valueOf(path: Path): object | undefined {
    return this.#items.get(path)?.value
  }

  /** The objects of a bucket that are there, as the transaction sees it. */
  *objectsOf(bucket: Path): Generator<{ readonly id: string; readonly value: object }> {
    for (const item of this.#items.values()) {
      if (item.bucket === bucket && item.value !== undefined) yield { id: item.id, value: item.value }
    }
  }

  /** What it wrote to a bucket; undefined: it deleted it. */
  writesTo(bucket: Path): readonly { readonly id: string; readonly value: object | undefined }[] {
    return [...this.#items.values()].filter(item => item.bucket === bucket && item.write !== undefined)
  }

  /** The first look counts: if a later one shows something else, one of them is outdated, and the commit will tell. */
  read(bucket: Path, id: string, path: Path, version: Version, value: object | undefined): void {
    if (!this.#items.has(path)) this.#add(path, { bucket, id, version, isListed: false, value })
  }

  /** What it held is covered by the list as a whole. */
  listed(bucket: Path, id: string, path: Path, value: object): void {
    const known = this.#items.get(path)
    if (known) known.isListed = true
    else this.#add(path, { bucket, id, version: undefined, isListed: true, value })
  }

  list(read: ListRead): void {
    this.#lists.push(read)
  }

  write(bucket: Path, id: string, write: CommitWrite, value: object | undefined): void {
    const known = this.#items.get(write.path)
    if (known) Object.assign(known, { write, value })
    else this.#items.set(write.path, { bucket, id, version: undefined, isListed: false, value, write })
  }

  /** Rounded to as many decimals as a counter may have: 0.1 + 0.2 is 0.3. */
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

  #add(path: Path, item: Omit<Item, 'write'>): void {
    this.#items.set(path, { ...item, write: undefined })
  }
}

/** The part of a range that one page of it has shown. */
export function listRead(path: Path, version: Version, range: IdRange, after?: string, through?: string): ListRead {
  return {
    path,
    version,
    ...range,
    ...(after === undefined ? {} : { after }),
    ...(through === undefined ? {} : { through }),
  }
}

/** What a query has shown: nothing that carries one of these tags has changed since, or nothing in the bucket. */
export function queryRead(path: Path, version: Version, tags: readonly Tag[] | undefined): ListRead {
  return { path, version, ...(tags === undefined ? {} : { tags }) }
}
