/**
 * What a program declares about its buckets with `connect<Buckets>(url)`, and what follows from it: which names each method
 * accepts, and what type the values have. All of this is for the compiler; nothing here exists at run time.
 *
 * Without a declaration `Buckets` has no keys. Then every name is accepted, and the program gives the types of values itself.
 */
import type { CommitPart, CommitRead } from '../writing/commit.js'
import type { JsonPatch } from './object-bucket.js'

/**
 * What is in each bucket, by its name: the type of its objects, `number` for a bucket of counters, `Uint8Array` for a bucket of
 * bytes. `freshet gen` writes such a type from the schemas of a server.
 *
 * @example
 * import { connect } from '@freshet/client'
 *
 * interface Buckets {
 *   'shop/products': { name: string; price: number }
 *   'shop/views': number
 *   'shop/images': Uint8Array
 *   [tenant: `tenants/${string}`]: { owner: string } // for names that are computed at run time
 * }
 *
 * const db = await connect<Buckets>('http://localhost:7700')
 * await db.bucket('shop/products').put('tea', { name: 'Tea', price: 4 })
 * // @ts-expect-error: there is no such bucket.
 * db.bucket('shop/product')
 * db.close()
 */
export type BucketTypes<Buckets> = { readonly [Name in keyof Buckets]: object | number }

/** `Buckets` of a connection that declares none: every name is accepted. */
export type AnyBuckets = Record<never, object>

type KindOf<Value> = Value extends number ? 'counter' : Value extends Uint8Array ? 'kv' : 'object'

/** The declared names of one kind; a value of type `any` may be of every kind. */
type Declared<Buckets, Kind> = {
  [Name in keyof Buckets & string]: Kind extends KindOf<Buckets[Name]> ? Name : never
}[keyof Buckets & string]

type IfDeclared<Buckets, Then, Else> = [keyof Buckets] extends [never] ? Else : Then

/** The names that `db.bucket` accepts. */
export type ObjectBucketName<Buckets> = IfDeclared<Buckets, DeclaredObjects<Buckets>, string>

/** The declared buckets of objects; `never` if nothing is declared. */
export type DeclaredObjects<Buckets> = Declared<Buckets, 'object'>

/** The type of the objects in a declared bucket. */
export type ObjectIn<Buckets, Name extends keyof Buckets> = Extract<Buckets[Name], object>

/** The names that `db.counter` accepts. */
export type CounterBucketName<Buckets> = IfDeclared<Buckets, Declared<Buckets, 'counter'>, string>

/** The names that `db.kv` accepts. */
export type KvBucketName<Buckets> = IfDeclared<Buckets, Declared<Buckets, 'kv'>, string>

/** The names that `db.drop` accepts: those of buckets and of namespaces. */
export type DropName<Buckets> = IfDeclared<Buckets, DeclaredName<Buckets> | NamespaceOf<DeclaredName<Buckets>>, string>

type DeclaredName<Buckets> = keyof Buckets & string
type NamespaceOf<Name extends string> = Name extends `${infer Namespace}/${string}` ? Namespace : never

/** A write of `db.commit`, with the type of the values of its bucket. */
export type CommitPartIn<Buckets> = IfDeclared<
  Buckets,
  { [Name in DeclaredName<Buckets>]: PartOf<Name, Buckets[Name]> }[DeclaredName<Buckets>],
  CommitPart
>

/** A version that `db.commit` relies on, of an object in a declared bucket. */
export type CommitReadIn<Buckets> = CommitRead & { readonly bucket: IfDeclared<Buckets, DeclaredName<Buckets>, string> }

type PartOf<Name extends string, Value> = Pick<CommitPart, 'id' | 'ifVersion'> & { readonly bucket: Name } & (
    | Contents<Value>
    | { readonly delete: true }
  )

type Contents<Value> = Value extends number
  ? { readonly add: number }
  : Value extends Uint8Array
    ? { readonly bytes: Uint8Array; readonly contentType?: string }
    : { readonly value: Value & object } | { readonly patch: JsonPatch<Value> }
