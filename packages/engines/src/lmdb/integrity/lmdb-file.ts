/**
 * Reads LMDB's file without LMDB, which trusts it: a page with a flipped bit makes LMDB miss a key, read beyond its map, or
 * end the process. Here nothing is trusted. The format is LMDB's data version 2, in pages of a size that the first page
 * names; numbers are little-endian.
 *
 *     page      0  8  its own number                    (in an overflow record: in its first page only)
 *               8  8  the transaction that wrote it
 *              16  2  unused
 *              18  2  kind: 1 branch, 2 leaf, 4 overflow, 8 meta
 *              20  2  bytes of the list of nodes        (overflow: 20 4, how many pages)
 *              22  2  where the nodes begin, less 24
 *              24 2n  where each node begins, less 24, in the order of their keys
 *
 *     node      0  4  leaf: bytes of data; branch: 6 bytes, the page below
 *               4  2  leaf: 0, or 1: the data is in an overflow record, or 2: it is the root of a table
 *               6  2  bytes of key
 *               8     key, then data; of an overflow record: 8 its first page | 8 transaction | 8 how many pages
 *
 *     root     48 bytes: 4 unused | 2 flags | 2 depth | 8 each: branch, leaf, overflow pages, records, page of the root
 *
 *     meta     in pages 0 and 1, and with overlapping sync also in the middle of page 0 (without a header): the state on disk
 *              24  4  magic | 4 version | 8 address | 8 map size | 48 root of the free list | 48 main root
 *             144  8  last page | 8 transaction | 8 boot
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { bootId } from '../processes.js'

export const PAGE_HEADER_BYTES = 24
const META_BYTES = 168
const MAGIC = 0xbeefc0de
const DATA_VERSION = 2
const META_PAGE = 8
/** A flag of the free list's root: written with overlapping sync, and not known to be on disk. */
const OVERLAPPING_SYNC = 0x1000
const PAGE_BYTES_MIN = 512
const PAGE_BYTES_MAX = 65_536
const NO_PAGE = 0xffff_ffff_ffff_ffffn

export interface Root {
  readonly flags: number
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly records: number
  /** Undefined: the table is empty. */
  readonly page: number | undefined
}

/** A state of the file, as named by a meta. */
export interface Meta {
  readonly free: Root
  readonly main: Root
  readonly lastPage: number
  readonly transaction: number
  readonly boot: bigint
  /** Whether it was not known to be on disk when it was written. */
  readonly isUnsure: boolean
  /** The roots and the last page, as bytes, which two metas of the same state have in common. */
  readonly state: Buffer
  readonly pageBytes: number
}

/** What is wrong with a file, in words. */
export class FileDamage extends Error {}

export class LmdbFile {
  readonly pageBytes: number
  readonly bytes: number
  readonly #descriptor: number

  /** Throws FileDamage if the file does not begin like one of LMDB. */
  constructor(path: string) {
    this.#descriptor = openSync(path, 'r')
    try {
      this.bytes = fstatSync(this.#descriptor).size
      this.pageBytes = this.#metaAt(0).pageBytes
      if (this.#metaAt(this.pageBytes).pageBytes !== this.pageBytes) throw new FileDamage(NOT_OURS)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** The state that LMDB would show if it opened the file now. Throws FileDamage if its metas contradict each other. */
  state(): Meta {
    const { pageBytes } = this
    const metas = [this.#metaAt(0), this.#metaAt(pageBytes)] as const
    const flushed = this.#flushedMeta()
    const [older, newer] = metas[0].transaction < metas[1].transaction ? metas : [metas[1], metas[0]]
    checkTransactions(metas, newer.transaction - older.transaction)
    if (flushed !== undefined) checkFlushed(flushed, older, newer)
    const chosen = flushed === undefined ? newer : chooseAfterBoot(older, newer, flushed)
    if (this.bytes < (1 + chosen.lastPage) * pageBytes) {
      throw new FileDamage(`it is cut off: it has no room for ${1 + chosen.lastPage} pages`)
    }
    return chosen
  }

  /** Returns fewer bytes at the end of the file. */
  read(page: number, pages = 1, target: Buffer = Buffer.allocUnsafe(pages * this.pageBytes)): Buffer {
    const bytes = readSync(this.#descriptor, target, 0, pages * this.pageBytes, page * this.pageBytes)
    return bytes === target.length ? target : target.subarray(0, bytes)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #metaAt(offset: number): Meta {
    const bytes = this.#bytesAt(offset)
    const isOurs =
      bytes.length === META_BYTES &&
      bytes.readUInt16LE(18) === META_PAGE &&
      bytes.readUInt32LE(24) === MAGIC &&
      bytes.readUInt16LE(28) === DATA_VERSION
    if (!isOurs) throw new FileDamage(NOT_OURS)
    const meta = decodeMeta(bytes)
    const { pageBytes } = meta
    if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || (pageBytes & (pageBytes - 1)) !== 0) {
      throw new FileDamage(NOT_OURS)
    }
    return meta
  }

  /** Undefined if it was never written. */
  #flushedMeta(): Meta | undefined {
    const bytes = this.#bytesAt(this.pageBytes / 2)
    if (bytes.every(byte => byte === 0)) return undefined
    const meta = decodeMeta(bytes)
    if (meta.pageBytes !== this.pageBytes || meta.isUnsure || meta.transaction === 0) {
      throw new FileDamage('the record of its last flush is damaged')
    }
    return meta
  }

  #bytesAt(offset: number): Buffer {
    const bytes = Buffer.alloc(META_BYTES)
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, META_BYTES, offset))
  }
}

const NOT_OURS = 'it is not a file written by LMDB'

function decodeMeta(bytes: Buffer): Meta {
  const state = Buffer.from(bytes.subarray(52, 152))
  state.writeUInt16LE(state.readUInt16LE(0) & ~OVERLAPPING_SYNC, 0)
  return {
    free: decodeRoot(bytes, 48),
    main: decodeRoot(bytes, 96),
    lastPage: Number(bytes.readBigUInt64LE(144)),
    transaction: Number(bytes.readBigUInt64LE(152)),
    boot: bytes.readBigInt64LE(160),
    isUnsure: (bytes.readUInt16LE(52) & OVERLAPPING_SYNC) !== 0,
    state,
    pageBytes: bytes.readUInt32LE(48),
  }
}

export function decodeRoot(bytes: Buffer, start: number): Root {
  const number = (offset: number) => Number(bytes.readBigUInt64LE(start + offset))
  const page = bytes.readBigUInt64LE(start + 40)
  return {
    flags: bytes.readUInt16LE(start + 4),
    depth: bytes.readUInt16LE(start + 6),
    branchPages: number(8),
    leafPages: number(16),
    overflowPages: number(24),
    records: number(32),
    page: page === NO_PAGE ? undefined : Number(page),
  }
}

/**
 * Transaction n writes the meta of page n modulo 2, so one meta is the other's predecessor; in a file without any
 * transaction, both are 0.
 */
function checkTransactions([first, second]: readonly [Meta, Meta], distance: number): void {
  const isNew = first.transaction === 0 && second.transaction === 0
  if (!isNew && (distance !== 1 || first.transaction % 2 !== 0)) {
    throw new FileDamage('its two meta pages are not those of two consecutive transactions')
  }
}

/**
 * A commit is acknowledged after the record of its flush is written. So this record is that of the newer meta, or of the
 * older, or of an earlier transaction.
 */
function checkFlushed(flushed: Meta, older: Meta, newer: Meta): void {
  const isAs = (meta: Meta) => flushed.state.equals(meta.state)
  const { transaction } = flushed
  const isLater = transaction > newer.transaction
  const isMisnamed = transaction < older.transaction && (isAs(older) || isAs(newer))
  const isOther = [older, newer].some(meta => meta.transaction === transaction && !isAs(meta))
  if (isLater || isMisnamed || isOther)
    throw new FileDamage('its meta pages and the record of its last flush do not agree')
}

/** Like LMDB: after the machine went down, a state that is not known to be on disk does not count. */
function chooseAfterBoot(older: Meta, newer: Meta, flushed: Meta): Meta {
  const boot = bootNumber()
  const isSure = ({ isUnsure, boot: own }: Meta) => !isUnsure || (own !== 0n && own === boot)
  if (isSure(newer)) return newer
  const [before, after] = flushed.transaction < older.transaction ? [flushed, older] : [older, flushed]
  return isSure(after) ? after : before
}

/** As LMDB stores it: the part before the first hyphen, as a number. */
function bootNumber(): bigint {
  const [digits] = /^[0-9a-f]+/.exec(bootId()) ?? []
  return digits === undefined ? 0n : BigInt(`0x${digits}`)
}
