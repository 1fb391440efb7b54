/**
 * Walks every tree of an LMDB file from its root, and checks everything that LMDB relies on: that each page is what its
 * parent says, that keys are in order and within the bounds of the branches above, that there are as many pages and records
 * as the root says, and that no page is used twice, or is both free and in use. A damaged byte that this does not detect is
 * in a page that is not in use, in the unused part of a page, or in a record, which has its own checksum.
 *
 * Damaged parts are left out and reported, and the walk continues with the rest, so everything that is whole can be read from
 * a damaged file.
 *
 * A walk of the branches alone omits the leaves, and so the records, of tables that have branches: it reads a hundredth of
 * the file, or less.
 */
import { setImmediate } from 'node:timers/promises'
import { decodeRoot, FileDamage, type LmdbFile, type Meta, PAGE_HEADER_BYTES, type Root } from './lmdb-file.js'

const BRANCH = 1
const LEAF = 2
const OVERFLOW = 4
const IN_OVERFLOW = 1
const IS_TABLE = 2
const NODE_BYTES = 8
const ROOT_BYTES = 48
const FIRST_PAGE = 2
const DEPTH_MAX = 32
const PAGES_PER_TURN = 128

export interface Walk {
  readonly file: LmdbFile
  readonly meta: Meta
  /** The names of the tables that must exist. */
  readonly tables: readonly string[]
  readonly depth: 'records' | 'branches'
  readonly onRecord: (table: string, key: Buffer, record: Buffer) => void
  readonly onDamage: (what: string) => void
  /** Called now and then; the walk waits for its promise. */
  readonly onProgress: (pages: number) => Promise<void> | void
}

/** The bytes of keys and records are valid only during the call. */
export async function walkTables(walk: Walk): Promise<void> {
  const walker = new Walker(walk)
  const found = new Map<string, Root>()
  await walker.walk('the list of tables', walk.meta.main, {
    isTableList: true,
    hasLeaves: true,
    onNode: (key, record) => void found.set(nameOf(key), decodeRoot(record, 0)),
  })
  for (const [name, root] of namedTables(found, walk)) {
    const hasLeaves = walk.depth === 'records' || root.depth <= 1
    await walker.walk(`table ${name}`, root, { hasLeaves, onNode: (key, record) => walk.onRecord(name, key, record) })
  }
  // Last: no page that it names may have been seen in the trees.
  await walker.walk('the free list', walk.meta.free, {
    isNumbered: true,
    hasLeaves: true,
    onNode: (key, record) => walker.checkFree(key, record),
  })
}

/**
 * If one table is missing and one is unknown, the unknown one is the missing one under a damaged name: the checksums of its
 * records will show whether it is.
 */
function namedTables(
  found: ReadonlyMap<string, Root>,
  { tables, onDamage }: Walk,
): readonly (readonly [string, Root])[] {
  const missing = tables.filter(name => !found.has(name))
  const unknown = [...found.keys()].filter(name => !tables.includes(name))
  for (const name of missing) onDamage(`table ${name} is missing`)
  for (const name of unknown) onDamage(`there is a table ${JSON.stringify(name)}, which the store does not have`)
  const [name, ...others] = missing
  const isRenamed = name !== undefined && others.length === 0 && unknown.length === 1
  const known = [...found].filter(([each]) => tables.includes(each))
  return isRenamed ? [...known, [name, found.get(unknown[0]!)!] as const] : known
}

interface Tree {
  /** Its keys are numbers in the byte order of the machine. */
  readonly isNumbered?: boolean
  readonly isTableList?: boolean
  /** Whether its leaves are read. */
  readonly hasLeaves: boolean
  readonly onNode: (key: Buffer, record: Buffer) => void
}

interface Counted {
  branchPages: number
  leafPages: number
  overflowPages: number
  records: number
}

interface Place {
  readonly page: number
  readonly depth: number
  /** Keys below are at or after this one; undefined: no bound. */
  readonly from: Buffer | undefined
  /** Keys below are before this one; undefined: no bound. */
  readonly to: Buffer | undefined
}

interface Node {
  readonly start: number
  readonly key: Buffer
}

class Walker {
  readonly #walk: Walk
  readonly #seen: Uint8Array
  #pages = 0
  #nextTurn = PAGES_PER_TURN

  constructor(walk: Walk) {
    this.#walk = walk
    this.#seen = new Uint8Array((walk.meta.lastPage >>> 3) + 1)
  }

  async walk(what: string, root: Root, tree: Tree): Promise<void> {
    const counted: Counted = { branchPages: 0, leafPages: 0, overflowPages: 0, records: 0 }
    if (root.page !== undefined) {
      const { page, depth } = root
      if (depth > 0 && depth <= DEPTH_MAX)
        await this.#down(what, { page, depth, from: undefined, to: undefined }, tree, counted)
    }
    const isAsCounted =
      root.branchPages === counted.branchPages &&
      root.leafPages === counted.leafPages &&
      (!tree.hasLeaves || (root.overflowPages === counted.overflowPages && root.records === counted.records))
    if (!isAsCounted) this.#walk.onDamage(`${what} does not have as many pages and records as its root says`)
  }

  async #down(what: string, place: Place, tree: Tree, counted: Counted): Promise<void> {
    if (++this.#pages >= this.#nextTurn) {
      this.#nextTurn = this.#pages + PAGES_PER_TURN
      await this.#walk.onProgress(this.#pages)
      await setImmediate()
    }
    let below: readonly Place[] = []
    try {
      if (place.depth === 1 && !tree.hasLeaves) {
        counted.leafPages++
        this.#use(place.page)
        return
      }
      const bytes = this.#readPage(place)
      const nodes = nodesOf(bytes, place.depth > 1)
      // A page that is out of order is damaged, but its records may still be whole.
      if (!isInOrder(nodes, place, tree))
        this.#walk.onDamage(`${what}: page ${place.page} has keys that are out of order`)
      if (place.depth > 1) {
        counted.branchPages++
        below = placesBelow(bytes, nodes, place)
      } else {
        counted.leafPages++
        for (const node of nodes) this.#readNode(what, bytes, node, tree, counted)
      }
    } catch (error) {
      if (!(error instanceof FileDamage)) throw error
      this.#walk.onDamage(`${what}: page ${place.page} ${error.message}`)
    }
    for (const each of below) await this.#down(what, each, tree, counted)
  }

  #readPage({ page, depth }: Place): Buffer {
    this.#use(page)
    const { file, meta } = this.#walk
    const bytes = file.read(page)
    const isAsNamed =
      bytes.length === file.pageBytes &&
      Number(bytes.readBigUInt64LE(0)) === page &&
      Number(bytes.readBigUInt64LE(8)) <= meta.transaction &&
      bytes.readUInt16LE(18) === (depth > 1 ? BRANCH : LEAF)
    if (!isAsNamed) throw new FileDamage('is not what its parent says')
    return bytes
  }

  /** Throws if it is not a page of data, or is used elsewhere. */
  #use(page: number): void {
    if (!(page >= FIRST_PAGE && page <= this.#walk.meta.lastPage))
      throw new FileDamage(`names page ${page}, which is not a page of the file`)
    const bit = 1 << (page & 7)
    if (this.#seen[page >>> 3]! & bit) throw new FileDamage(`names page ${page}, which is used elsewhere`)
    this.#seen[page >>> 3]! |= bit
  }

  #readNode(what: string, bytes: Buffer, { start, key }: Node, tree: Tree, counted: Counted): void {
    counted.records++
    try {
      tree.onNode(key, this.#dataOf(bytes, start, key, tree, counted))
    } catch (error) {
      if (!(error instanceof FileDamage)) throw error
      this.#walk.onDamage(`${what}: the record of ${JSON.stringify(key.toString())} ${error.message}`)
    }
  }

  #dataOf(bytes: Buffer, start: number, key: Buffer, { isTableList }: Tree, counted: Counted): Buffer {
    const size = bytes.readUInt32LE(start)
    const flags = bytes.readUInt16LE(start + 4)
    const dataStart = start + NODE_BYTES + key.length
    if (isTableList ? flags !== IS_TABLE || size !== ROOT_BYTES : flags !== 0 && flags !== IN_OVERFLOW) {
      throw new FileDamage('has an impossible flag')
    }
    if (flags === IN_OVERFLOW) return this.#readOverflow(bytes, dataStart, size, counted)
    return bytes.subarray(dataStart, dataStart + size)
  }

  #readOverflow(node: Buffer, start: number, size: number, counted: Counted): Buffer {
    const { file } = this.#walk
    const first = Number(node.readBigUInt64LE(start))
    const pages = Math.ceil((PAGE_HEADER_BYTES + size) / file.pageBytes)
    if (Number(node.readBigUInt64LE(start + 16)) !== pages) throw new FileDamage('has an impossible size')
    for (let page = first; page < first + pages; page++) this.#use(page)
    counted.overflowPages += pages
    this.#pages += pages
    const bytes = file.read(first, pages)
    const isAsNamed =
      bytes.length >= PAGE_HEADER_BYTES + size &&
      Number(bytes.readBigUInt64LE(0)) === first &&
      bytes.readUInt16LE(18) === OVERFLOW &&
      bytes.readUInt32LE(20) === pages
    if (!isAsNamed) throw new FileDamage('is not where its page says')
    return bytes.subarray(PAGE_HEADER_BYTES, PAGE_HEADER_BYTES + size)
  }

  /** A record of the free list: the number of pages, then their numbers, in descending order. Throws FileDamage. */
  checkFree(key: Buffer, record: Buffer): void {
    const { meta } = this.#walk
    const count = record.length >= 8 ? Number(record.readBigUInt64LE(0)) : -1
    if (key.length !== 8 || Number(key.readBigUInt64LE()) > meta.transaction || !(8 + count * 8 <= record.length)) {
      throw new FileDamage('is impossible')
    }
    let before = Number.POSITIVE_INFINITY
    for (let i = 1; i <= count; i++) {
      const page = Number(record.readBigUInt64LE(i * 8))
      if (page >= before) throw new FileDamage('is out of order')
      before = page
      this.#use(page)
    }
  }
}

/** Throws unless the page's nodes exactly fill its end. */
function nodesOf(bytes: Buffer, isBranch: boolean): readonly Node[] {
  const lower = bytes.readUInt16LE(20)
  const upper = bytes.readUInt16LE(22) + PAGE_HEADER_BYTES
  const listEnd = PAGE_HEADER_BYTES + lower
  if (lower % 2 !== 0 || lower === 0 || listEnd > upper || upper > bytes.length)
    throw new FileDamage('has an impossible header')
  const nodes: Node[] = []
  let used = 0
  for (let place = PAGE_HEADER_BYTES; place < listEnd; place += 2) {
    const start = bytes.readUInt16LE(place) + PAGE_HEADER_BYTES
    const end = nodeEnd(bytes, start, upper, isBranch)
    used += end - start + ((end - start) % 2)
    const keyStart = start + NODE_BYTES
    nodes.push({ start, key: bytes.subarray(keyStart, keyStart + bytes.readUInt16LE(start + 6)) })
  }
  if (used !== bytes.length - upper) throw new FileDamage('has nodes that overlap, or gaps between them')
  return nodes
}

function nodeEnd(bytes: Buffer, start: number, upper: number, isBranch: boolean): number {
  if (start < upper || start % 2 !== 0 || start + NODE_BYTES > bytes.length)
    throw new FileDamage('has a node outside the page')
  const keyEnd = start + NODE_BYTES + bytes.readUInt16LE(start + 6)
  const isInOverflow = (bytes.readUInt16LE(start + 4) & IN_OVERFLOW) !== 0
  const end = isBranch ? keyEnd : keyEnd + (isInOverflow ? 24 : bytes.readUInt32LE(start))
  if (end > bytes.length) throw new FileDamage('has a node that goes beyond the page')
  return end
}

/** The first key of a branch is ignored: it stands for everything before the second. */
function isInOrder(nodes: readonly Node[], { depth, from, to }: Place, { isNumbered = false }: Tree): boolean {
  const compare = isNumbered ? compareNumbers : Buffer.compare
  let before = depth > 1 ? from : undefined
  for (const [i, { key }] of nodes.entries()) {
    if (depth > 1 && i === 0) continue
    const isAfter = before === undefined ? from === undefined || compare(key, from) >= 0 : compare(key, before) > 0
    if (!isAfter || (to !== undefined && compare(key, to) >= 0)) return false
    before = key
  }
  return true
}

function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.length !== 8 || b.length !== 8) throw new FileDamage('has a key that is not a number')
  return Number(a.readBigUInt64LE()) - Number(b.readBigUInt64LE())
}

function placesBelow(bytes: Buffer, nodes: readonly Node[], { depth, from, to }: Place): readonly Place[] {
  return nodes.map(({ start, key }, i) => ({
    page: bytes.readUIntLE(start, 6),
    depth: depth - 1,
    from: i === 0 ? from : key,
    to: nodes[i + 1]?.key ?? to,
  }))
}

/** The name ends with a byte 0. */
function nameOf(key: Buffer): string {
  return key.at(-1) === 0 ? key.toString('utf8', 0, key.length - 1) : `${key.toString()} (cut off)`
}
