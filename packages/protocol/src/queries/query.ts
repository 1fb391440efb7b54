/**
 * What a query of a bucket can ask. A filter is JSON in the style of MongoDB:
 *
 *     { "category": "books", "price": { "$gte": 2, "$lt": 10 },
 *       "$or": [{ "new": true }, { "author.name": { "$prefix": "Ann" } }] }
 *
 * A bare value means `$eq`. Fields are dotted paths into objects, not into arrays; `$id` is the object's id. All members of
 * a filter must match. A comparison matches only values of the same JSON type as its own: null, boolean, number or string;
 * arrays and objects are matched by `$exists` and `$ne` alone.
 *
 * The order of values: missing < null < false < true < numbers < strings (by their UTF-8 bytes) < arrays and objects, which
 * are all equal among themselves. Entries that are equal by the sort come by their ids, in the direction of its last field: so
 * every order is total, and an index read backwards gives the order that `-field` asks for.
 */
export interface Query {
  readonly where?: Filter
  readonly sort?: readonly Sort[]
  /** 100 unless given, 1000 at most. */
  readonly limit?: number
  /** The cursor of the page before: its `next`. */
  readonly after?: string
  /** Only these fields of each value are returned. Stores ignore it. */
  readonly fields?: readonly string[]
}

export interface Sort {
  readonly field: string
  readonly descending?: boolean
}

export type Scalar = null | boolean | number | string

export interface Filter {
  readonly [field: string]: Scalar | Condition | readonly Filter[]
}

/** All members must match. */
export interface Condition {
  readonly $eq?: Scalar
  /** Matches everything that `$eq` does not match, including a missing value. */
  readonly $ne?: Scalar
  readonly $lt?: Scalar
  readonly $lte?: Scalar
  readonly $gt?: Scalar
  readonly $gte?: Scalar
  readonly $in?: readonly Scalar[]
  readonly $prefix?: string
  readonly $exists?: boolean
}

export const QUERY_LIMIT_DEFAULT = 100
export const QUERY_LIMIT_MAX = 1000
/** The name under which an object's id is filtered on and sorted by. */
export const ID_FIELD = '$id'
