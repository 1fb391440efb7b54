/**
 * The record of a history: what clients and servers did, one JSON line for each operation that ended. Another program can
 * check from it whether the promises were kept. Values are never recorded.
 *
 *     {"f":1,"op":"session","s":"k3f9","c":"p81k","log":"9c1e","t":1021400,"lo":52000,"hi":53100}
 *     {"f":1,"op":"write","s":"k3f9","b":1022000,"e":1025100,"at":22,"w":["/db/shop/products/42","/db/shop/products"]}
 *     {"f":1,"op":"read","s":"k3f9","path":"/db/shop/products/42","b":1030000,"e":1031200,"within":1000,"v":22,"pos":22,
 *      "sp":20,"by":"shared cache"}                                      (one line; broken here to fit)
 *     {"f":1,"op":"token","s":"k3f9","t":1040000,"token":"5f1e0c2b9a7d4e33"}
 *
 * Every line has its format (`f`) and depends on no other line except an earlier session line of its session, which is
 * repeated every few seconds: recordings may be cut, rotated, merged and filtered by line.
 *
 * Times are whole microseconds of the clock `c`, which all sessions of one process share and which never gives the same
 * time twice, so within a process everything is ordered exactly. Between processes there is the server's clock: a session
 * line says that at `t` the server's clock was ahead by `lo` to `hi` (Cristian's method, with the certain bounds rather than
 * the middle). An operation's begin is taken before it began and its end after it ended: both err on the lenient side.
 */
import { FreshetError, type Path, type Position, type Version } from '@freshet/protocol'

export const RECORD_FORMAT = 1

/** The recording process, its clock and its log; and how that clock compares with the server's. */
export interface SessionRecord {
  readonly f: typeof RECORD_FORMAT
  readonly op: 'session'
  readonly s: string
  readonly c: string
  readonly log: string
  readonly t: number
  /** The server's clock minus this one: at least, at most. Absent if no server could be asked. */
  readonly lo?: number
  readonly hi?: number
  /** The token of the session that this one continues. */
  readonly from?: string
  /** 'server': writes are all that it acknowledged, reads are what it answered, and it has no session of its own. */
  readonly role?: 'server'
  /** Of a server: its index among the servers that together see every write; and the position it had reached at `t`. */
  readonly part?: readonly [index: number, count: number]
  readonly pos?: Position
  /** The share of paths that is recorded; 1 if absent. See `isInSample`. */
  readonly share?: number
}

export interface ReadRecord {
  readonly f: typeof RECORD_FORMAT
  readonly op: 'read'
  readonly s: string
  readonly path: Path
  readonly b: number
  readonly e: number
  /** The answer reflects everything acknowledged longer than this before it began, in ms. Absent: it promises nothing. */
  readonly within?: number
  /** 0 if the object is absent. */
  readonly v: Version
  /** The state that it was read from includes this position. */
  readonly pos: Position
  /** The session's position when the read began: no answer may be older. */
  readonly sp?: Position
  /** What served it. */
  readonly by?: string
}

export interface WriteRecord {
  readonly f: typeof RECORD_FORMAT
  readonly op: 'write' | 'commit'
  readonly s: string
  readonly b: number
  /** When it was acknowledged. */
  readonly e: number
  /** The acknowledged position: the version of everything it wrote. */
  readonly at: Position
  /** The paths that changed, with the buckets whose lists changed; and the deleted paths. */
  readonly w?: readonly Path[]
  readonly d?: readonly Path[]
}

/** The session was handed on: a session that starts from this token continues what this one had seen and written by then. */
export interface TokenRecord {
  readonly f: typeof RECORD_FORMAT
  readonly op: 'token'
  readonly s: string
  readonly t: number
  readonly token: string
}

export type HistoryRecord = SessionRecord | ReadRecord | WriteRecord | TokenRecord

export function formatRecord(record: HistoryRecord): string {
  return JSON.stringify(record)
}

/** Throws RECORDING_INVALID, which says what is wrong with the line. Ignores unknown fields. */
export function parseRecord(line: string): HistoryRecord {
  const record = parseObject(line)
  if (record.f !== RECORD_FORMAT) {
    throw invalid(`its format (f) is ${show(record.f)}; this version of Freshet reads ${RECORD_FORMAT}`)
  }
  const fields = typeof record.op === 'string' ? FIELDS[record.op] : undefined
  if (fields === undefined) throw invalid(`op is ${show(record.op)}, not one of ${Object.keys(FIELDS).join(', ')}`)
  for (let i = 0; i < fields.length; i++) {
    const { name, wants, fits } = fields[i]!
    if (!fits(record[name])) throw invalid(`${name} must be ${wants}, not ${show(record[name])}`)
  }
  return record as unknown as HistoryRecord
}

interface Field {
  readonly name: string
  readonly wants: string
  readonly fits: (value: unknown) => boolean
}

const TEXT = { wants: 'a string', fits: (value: unknown) => typeof value === 'string' && value !== '' }
const WHOLE = { wants: 'a whole number', fits: (value: unknown) => Number.isSafeInteger(value) }
const POSITION = {
  wants: 'a whole number of at least 0',
  fits: (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0,
}
const AGE = { wants: 'a number of at least 0', fits: (value: unknown) => typeof value === 'number' && value >= 0 }
const PATHS = {
  wants: 'a list of strings',
  fits: (value: unknown) => Array.isArray(value) && value.every(path => typeof path === 'string'),
}
const PART = {
  wants: 'two whole numbers, the index and the count',
  fits: (value: unknown) => Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger),
}

function optional<Kind extends Pick<Field, 'wants' | 'fits'>>({ wants, fits }: Kind): Pick<Field, 'wants' | 'fits'> {
  return { wants, fits: value => value === undefined || fits(value) }
}

function named(kinds: Readonly<Record<string, Pick<Field, 'wants' | 'fits'>>>): readonly Field[] {
  return Object.entries(kinds).map(([name, kind]) => ({ name, ...kind }))
}

const WRITE = named({ s: TEXT, b: WHOLE, e: WHOLE, at: POSITION, w: optional(PATHS), d: optional(PATHS) })
const FIELDS: Readonly<Record<string, readonly Field[]>> = {
  session: named({
    ...{ s: TEXT, c: TEXT, log: TEXT, t: WHOLE, lo: optional(WHOLE), hi: optional(WHOLE), from: optional(TEXT) },
    ...{ role: optional(TEXT), part: optional(PART), pos: optional(POSITION), share: optional(AGE) },
  }),
  read: named({
    ...{ s: TEXT, path: TEXT, b: WHOLE, e: WHOLE, within: optional(AGE), v: POSITION, pos: POSITION },
    ...{ sp: optional(POSITION), by: optional(TEXT) },
  }),
  write: WRITE,
  commit: WRITE,
  token: named({ s: TEXT, t: WHOLE, token: TEXT }),
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch (cause) {
    throw invalid(`it is not JSON, or it was cut off (${line.length} characters)`, cause)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw invalid('it is JSON, but not an object')
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 40) ?? String(value))
}

function invalid(what: string, cause?: unknown): FreshetError {
  return new FreshetError('RECORDING_INVALID', `This is not a line of a recording: ${what}.`, { cause })
}
