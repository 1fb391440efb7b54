/** The options of a query, typed by the fields of the objects. Nested fields have dotted paths: `author.name`. */
import type { ReadOptions } from '../reading/read-options.js'

/** A field of T, a dotted path into a field, or the id. */
export type FieldOf<T> = (keyof T & string) | `${string}.${string}` | '$id'

/** A plain value means: equal to it. Only values of the same JSON type are compared. */
export type Condition<Value> = Value | Comparison<Value>

/** Conditions on the value of a field. If several are given, all of them must hold. */
export interface Comparison<Value> {
  /** The value is equal to this: the same as the value without `$eq`. */
  readonly $eq?: Value
  /** Every object for which `$eq` does not hold, including those without the field. */
  readonly $ne?: Value
  /** The value is equal to one of these. */
  readonly $in?: readonly Value[]
  /** The value is less than this. */
  readonly $lt?: Value
  /** The value is less than this, or equal. */
  readonly $lte?: Value
  /** The value is greater than this. */
  readonly $gt?: Value
  /** The value is greater than this, or equal. */
  readonly $gte?: Value
  /** The value is text that begins with this. */
  readonly $prefix?: string
  /** true: the object has the field, perhaps with null; false: it does not have it. */
  readonly $exists?: boolean
}

type Scalar = null | boolean | number | string

/**
 * Conditions on an object, all of which must hold. Nested fields have dotted paths; `$id` is the id of the object.
 *
 * @example
 * const { items } = await db.bucket('shop/products').query({
 *   where: { $or: [{ category: { $in: ['drinks', 'food'] } }, { price: { $gt: 100 } }], $id: { $prefix: 't' } },
 * })
 * console.log(items.map(({ id }) => id)) // [ 'tea' ]
 */
export type Filter<T> = {
  readonly [Field in keyof T & string]?: Condition<Extract<T[Field], Scalar>>
} & {
  readonly [path: `${string}.${string}`]: Condition<Scalar>
} & {
  readonly $id?: Condition<string>
  readonly $and?: readonly Filter<T>[]
  readonly $or?: readonly Filter<T>[]
}

/** A minus before the field means descending. */
export type SortField<T> = FieldOf<T> | `-${FieldOf<T>}`

/** The options of a query: which objects, in which order, how many, which fields. */
export interface QueryOptions<T> extends ReadOptions {
  /** Which objects; default: all. */
  readonly where?: Filter<T>
  /**
   * The sort fields, the most significant first. Objects that are equal in all of them are sorted by id; the default is by id.
   */
  readonly sort?: SortField<T> | readonly SortField<T>[]
  /** At most how many; for `queryAll`, in each request. The server has its own limit. */
  readonly limit?: number
  /** The `next` of the previous page. */
  readonly after?: string
  /** Return only these fields of each object. */
  readonly fields?: readonly FieldOf<T>[]
}
