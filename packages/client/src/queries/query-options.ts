/** What can be asked of a bucket of objects, typed by their fields. Nested fields go by dotted paths: `author.name`. */
import type { ReadOptions } from '../reading/read-options.js'

/** A field of T, a dotted path into one, or the id. */
export type FieldOf<T> = (keyof T & string) | `${string}.${string}` | '$id'

/** A value means: equal to it. Only values of the same JSON type are compared. */
export type Condition<Value> = Value | Comparison<Value>

/** What must hold for the value of a field. If several are given, all of them. */
export interface Comparison<Value> {
  readonly $eq?: Value
  /** Whatever `$eq` does not hold for, also what is missing. */
  readonly $ne?: Value
  readonly $in?: readonly Value[]
  readonly $lt?: Value
  readonly $lte?: Value
  readonly $gt?: Value
  readonly $gte?: Value
  /** Of text: it begins with this. */
  readonly $prefix?: string
  readonly $exists?: boolean
}

type Scalar = null | boolean | number | string

/** What must hold, all of it. */
export type Filter<T> = {
  readonly [Field in keyof T & string]?: Condition<Extract<T[Field], Scalar>>
} & {
  readonly [path: `${string}.${string}`]: Condition<Scalar>
} & {
  readonly $id?: Condition<string>
  readonly $and?: readonly Filter<T>[]
  readonly $or?: readonly Filter<T>[]
}

/** With a minus before it: descending. */
export type SortField<T> = FieldOf<T> | `-${FieldOf<T>}`

/** What is asked of a bucket: which objects, in which order, how many, which fields. */
export interface QueryOptions<T> extends ReadOptions {
  readonly where?: Filter<T>
  /** The first counts most; what is equal in all of them goes by id, and everything does if there are none. */
  readonly sort?: SortField<T> | readonly SortField<T>[]
  /** How many at most; for `queryAll`, in each request. The server has a limit of its own. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly after?: string
  /** Only these fields of each object. */
  readonly fields?: readonly FieldOf<T>[]
}
