/**
 * What a store is in Redis. Every key has the same hash tag, so that all of a store lies in one slot of a Redis Cluster:
 *
 *     {freshet:NAME}:head        string   position and clock, in decimals: "29312345678901 5000". Position of the last commit. Since
 *                                         a bucket has had an index, the format follows: "29312345678901 5000 2"
 *     {freshet:NAME}:meta        hash     format; log: the id of the log; trimmed: the position that it begins after; run: of the
 *                                         Redis process that positions were last fitted to; ended and begun: where those of the run
 *                                         before ended, and those of this one began; indexes: the last number given to one
 *     {freshet:NAME}:v:KEY       string   a value, as drawn in value-record.ts of @freshet/store: content type, version, body
 *     {freshet:NAME}:i:BUCKET    zset     the bucket's ids, all with score 0: so they are in the order of their bytes
 *     {freshet:NAME}:buckets     hash     bucket: position of its last change
 *     {freshet:NAME}:log         stream   POSITION-0, field k: the clock in decimals, then each key after a byte 0; field t, if there
 *                                         are any: tags, with a byte 0 between them
 *     {freshet:NAME}:indexes     hash     bucket: its indexes, JSON, an array of IndexRecord; one whose declaredAt is 0 was declared
 *                                         at the bucket's stamp
 *     {freshet:NAME}:declared    hash     bucket: its stamp, the position of the last change of its indexes
 *     {freshet:NAME}:unbuilt     set      buckets with indexes that are not ready
 *     {freshet:NAME}:e:NUMBER    zset     the entries of an index, as drawn in index-keys.ts, all with score 0
 *     {freshet:NAME}:x:BUCKET    hash     id: what the object is under the bucket's indexes, MessagePack, drawn in commit-script.ts
 *     {freshet:NAME}:tags        hash     tag: position of the last change that carries it
 *     {freshet:NAME}:memory      hash     what is remembered, by name
 *     {freshet:NAME}:holders     hash     what one of several holds, by name: until when in decimals, a space, who
 *     {freshet:NAME}:clocks      hash     boot id of a machine: what is to be added to its monotonic clock, in milliseconds
 *     {freshet:NAME}:c:CLIENT    hash     a client's window: s: settled up to; l: about when it was last here; SEQUENCE: done
 *     {freshet:NAME}:clients     zset     client, with the score l: to forget by
 *     {freshet:NAME}:foreign     hash     id of somebody else's operation: done
 *     {freshet:NAME}:foreign-log stream   POSITION-n, fields i: id, t: when it was done: to forget by
 *
 *     done                                MessagePack: [fingerprint, position, units with spaces between, note], all as text
 */
export const FORMAT = '1'
/**
 * From the first index on, so that no server writes without keeping it that does not know of indexes: an older one is refused when it
 * connects, and one that is connected cannot read the head any more.
 */
export const FORMAT_WITH_INDEXES = '2'
/** Redis 7 brought scripts that are refused as a whole when memory is short. */
export const REDIS_VERSION_MIN = 7

const NAME = /^[A-Za-z0-9_.-]{1,100}$/

export interface Layout {
  readonly head: string
  readonly meta: string
  readonly log: string
  readonly buckets: string
  readonly memory: string
  readonly clients: string
  readonly foreign: string
  readonly foreignLog: string
  readonly clocks: string
  readonly indexes: string
  readonly declared: string
  readonly unbuilt: string
  readonly tags: string
  /** What these keys begin with: those of values, of buckets' ids, of clients' windows, of entries, of what objects are under indexes. */
  readonly values: string
  readonly ids: string
  readonly windows: string
  readonly entries: string
  readonly indexed: string
}

/** Throws TypeError. */
export function layoutOf(name: string): Layout {
  if (!NAME.test(name))
    throw new TypeError(`A store in Redis is named by 1 to 100 of A-Z, a-z, 0-9, _ . and -, not ${name}.`)
  const prefix = `{freshet:${name}}:`
  return {
    head: `${prefix}head`,
    meta: `${prefix}meta`,
    log: `${prefix}log`,
    buckets: `${prefix}buckets`,
    memory: `${prefix}memory`,
    clients: `${prefix}clients`,
    foreign: `${prefix}foreign`,
    foreignLog: `${prefix}foreign-log`,
    clocks: `${prefix}clocks`,
    indexes: `${prefix}indexes`,
    declared: `${prefix}declared`,
    unbuilt: `${prefix}unbuilt`,
    tags: `${prefix}tags`,
    values: `${prefix}v:`,
    ids: `${prefix}i:`,
    windows: `${prefix}c:`,
    entries: `${prefix}e:`,
    indexed: `${prefix}x:`,
  }
}

export interface Head {
  readonly position: number
  readonly timeMs: number
}

export function parseHead(text: string): Head {
  const [position, timeMs] = text.split(' ', 2)
  return { position: Number(position), timeMs: Number(timeMs) }
}
