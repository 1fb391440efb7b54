/**
 * Pages of a bucket. Each is one read of Redis, and so of one state. Only what a filter leaves out makes it more than one: then
 * the bucket must not have changed between them, else it begins again, with larger steps.
 */
import { type ScanPage, type ScanRange, type StoredEntry, scanLimit } from '@freshet/core/store'
import { compareUtf8 } from '@freshet/protocol'
import { decodeValue } from '../embedded/records.js'
import type { Argument, Reply } from './client.js'
import { parseHead } from './layout.js'

/** Asks for so many entries of a range, in the words of `SCAN_SCRIPT`. */
export type ReadPage = (first: Argument, last: Argument, count: number) => Promise<Reply>

interface Step {
  readonly entries: readonly StoredEntry[]
  readonly version: number
  readonly position: number
}

const STEP_MIN = 256
/** Of one read: all of Redis waits for it. */
const STEP_MAX = 10_000
const STEP_GROWTH = 4

/** `damaged` makes the error for a value that is none, or is not there. */
export async function readBucketPage(
  range: ScanRange,
  read: ReadPage,
  damaged: (id: string) => Error,
): Promise<ScanPage> {
  const limit = scanLimit(range)
  const step = range.filter === undefined ? limit + 1 : Math.max(limit + 1, STEP_MIN)
  for (let size = step; ; size *= STEP_GROWTH) {
    const page = await readPage(range, limit, size, read, damaged)
    if (page) return page
  }
}

/** Undefined if the bucket changed meanwhile. */
async function readPage(
  range: ScanRange,
  limit: number,
  size: number,
  read: ReadPage,
  damaged: (id: string) => Error,
): Promise<ScanPage | undefined> {
  const last = lastOf(range)
  const entries: StoredEntry[] = []
  let first = firstOf(range)
  let version: number | undefined
  for (;;) {
    const count = Math.min(size, Math.max(STEP_MAX, 1))
    const step = decodeStep(await read(first, last, count), damaged)
    if (version !== undefined && version !== step.version) return undefined
    version = step.version
    for (const entry of step.entries) {
      const found = entries.at(-1)
      if (found !== undefined && entries.length === limit)
        return { entries, next: found.id, version, position: step.position }
      if (range.filter?.(entry) ?? true) entries.push(entry)
    }
    const reached = step.entries.at(-1)
    if (step.entries.length < count || reached === undefined) return { entries, version, position: step.position }
    first = `(${reached.id}`
  }
}

function decodeStep(reply: Reply, damaged: (id: string) => Error): Step {
  const [head, version, ...parts] = reply as readonly (Buffer | null)[]
  const entries: StoredEntry[] = []
  for (let i = 0; i < parts.length; i += 2) {
    const id = String(parts[i])
    const record = parts[i + 1]
    const value = record && decodeValue(record, record.length)
    if (!value) throw damaged(id)
    entries.push({ id, ...value })
  }
  return { entries, version: Number(version), position: head ? parseHead(String(head)).position : 0 }
}

/** Where a range begins, in the words of ZRANGE BYLEX: the furthest of its bounds. */
function firstOf({ from, after, prefix }: ScanRange): Argument {
  let first = from ?? ''
  if (prefix !== undefined && compareUtf8(prefix, first) > 0) first = prefix
  if (after !== undefined && compareUtf8(after, first) >= 0) return `(${after}`
  return `[${first}`
}

function lastOf({ to, prefix }: ScanRange): Argument {
  const ends: Buffer[] = []
  if (to !== undefined) ends.push(Buffer.from(to))
  // 0xff is in no UTF-8: it comes after all that begins with the prefix.
  if (prefix !== undefined) ends.push(Buffer.concat([Buffer.from(prefix), Buffer.of(0xff)]))
  const [end] = ends.sort(Buffer.compare)
  return end === undefined ? '+' : Buffer.concat([Buffer.from('('), end])
}
