/**
 * The keys of a store in Redis. All have the same hash tag, so that all of a store lies in one slot of a Redis Cluster:
 *
 *     {freshet:NAME}:head        string   position and clock, in decimals: "29312345678901 5000". Position of the last commit.
 *                                         Once a bucket has had an index, the format follows: "29312345678901 5000 2"
 *     {freshet:NAME}:meta        hash     format; log: the id of the log; trimmed: the position that it begins after; run: the
 *                                         run id of the Redis process that positions were last fitted to; ended and begun:
 *                                         where the positions of the run before ended, and where those of this run began;
 *                                         indexes: the last number that was given to an index
 *     {freshet:NAME}:v:KEY       string   a value, as drawn in value-record.ts of @freshet/store: content type, version, body
 *     {freshet:NAME}:i:BUCKET    zset     the bucket's ids, all with score 0: so they are in the order of their bytes
 *     {freshet:NAME}:buckets     hash     bucket: position of its last change
 *     {freshet:NAME}:log         stream   POSITION-0, field k: the clock in decimals, then each key after a byte 0; field t, if
 *                                         the commit has tags: the tags, with a byte 0 between them
 *     {freshet:NAME}:indexes     hash     bucket: its indexes, JSON, an array of IndexRecord; one whose declaredAt is 0 was
 *                                         declared at the bucket's stamp
 *     {freshet:NAME}:declared    hash     bucket: its stamp, the position of the last change of its indexes
 *     {freshet:NAME}:unbuilt     set      buckets with indexes that are not ready
 *     {freshet:NAME}:e:NUMBER    zset     the entries of an index, as drawn in index-keys.ts, all with score 0
 *     {freshet:NAME}:x:BUCKET    hash     id: the object's record under the bucket's indexes, MessagePack, drawn in
 *                                         commit-script.ts
 *     {freshet:NAME}:tags        hash     tag: position of the last change that carries it
 *     {freshet:NAME}:memory      hash     values that the store remembers, by name
 *     {freshet:NAME}:holders     hash     by name, which process holds it: until when in decimals, a space, the holder
 *     {freshet:NAME}:clocks      hash     boot id of a machine: the offset to add to its monotonic clock, in milliseconds
 *     {freshet:NAME}:c:CLIENT    hash     a client's window: s: settled up to; l: about when it was last here; SEQUENCE: done
 *     {freshet:NAME}:clients     zset     client, with the score l: to forget by
 *     {freshet:NAME}:foreign     hash     id of a foreign operation: done
 *     {freshet:NAME}:foreign-log stream   POSITION-n, fields i: id, t: when it was done: to forget by
 *
 *     done                                MessagePack: [fingerprint, position, units with spaces between, note], all as text
 */
export const FORMAT = '1'
/**
 * The format from the first index on. It keeps servers that do not know of indexes from writing without updating them: an older
 * server is refused when it connects, and one that is connected can no longer read the head.
 */
export const FORMAT_WITH_INDEXES = '2'
/** From version 7 on, Redis refuses a script as a whole when memory is short. */
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
  /** The prefixes of keys: of values, of buckets' ids, of clients' windows, of index entries, of objects' records. */
  readonly values: string
  readonly ids: string
  readonly windows: string
  readonly entries: string
  readonly indexed: string
}

/** Throws TypeError if the name is invalid. */
export function layoutOf(name: string): Layout {
  if (!NAME.test(name))
    throw new TypeError(
      `The name of a store in Redis has 1 to 100 of the characters A-Z, a-z, 0-9, _ . and -. It cannot be ${name}.`,
    )
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
