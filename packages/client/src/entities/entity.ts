/**
 * How entities are declared: without decorators, either for a class of one's own or, where the fields are all there is,
 * from their type alone:
 *
 *     entity(Coffee, 'shop/coffees', { references: { parent: () => Coffee } })
 *     const Roaster = entity<RoasterFields>('shop/roasters')
 *
 * What is referred to is given as a function, so that classes may refer to each other in any order. Types tell which
 * fields are references, and every one of them must be declared: what is stored is an id, and only the declaration says
 * of what.
 */
import { parseBucketName } from '@freshet/protocol'
import type { Reference } from './reference.js'

/** Anything that makes a T. Loading does not call it: fields are set as stored, on the class's prototype. */
export type EntityClass<T extends object> = new (...values: never[]) => T

/** What `entity` makes where it is given no class. */
export type FieldsClass<T extends object> = new (fields: T) => T

/** What a field refers to; never, if it is no reference. */
export type TargetOf<Field> =
  NonNullable<Field> extends Reference<infer Target>
    ? Target
    : NonNullable<Field> extends readonly Reference<infer Target>[]
      ? Target
      : never

/** The names of those fields of T that are references. */
export type ReferenceFields<T> = {
  [Name in keyof T]-?: [TargetOf<T[Name]>] extends [never] ? never : Name
}[keyof T] &
  string

/** A type whose references are ids, as generated ones are, with references in their place. */
export type WithReferences<Fields, To extends { readonly [Name in keyof To]: object }> = Omit<Fields, keyof To> &
  Referring<Pick<Fields, keyof To & keyof Fields>, To>

type Referring<Fields, To extends { readonly [Name in keyof To]: object }> = {
  [Name in keyof Fields]:
    | (NonNullable<Fields[Name]> extends readonly unknown[]
        ? Reference<To[Name & keyof To]>[]
        : Reference<To[Name & keyof To]>)
    | Extract<Fields[Name], null | undefined>
}

/** Several classes: what is stored is then `shop/coffees/42`, and not `42`. */
export type Targets<T extends object> = () => EntityClass<T> | readonly EntityClass<T>[]

/** What goes along a reference: to persist, or to remove, one is to do so with the other. */
export type Cascade = 'persist' | 'remove'

/** Each is called with the entity and must be done when it returns. One that throws keeps the operation from being done. */
export interface Hooks<T> {
  /** When it is about to become managed for the first time. */
  readonly beforePersist?: (entity: T) => void
  /** In a flush, when it is about to be written anew. What the hook changes is written too. */
  readonly beforeUpdate?: (entity: T) => void
  /** When it is about to be marked as removed. */
  readonly beforeRemove?: (entity: T) => void
  /** After its fields were set from what is stored, by find, list, refresh. What the hook changes counts as a change. */
  readonly afterLoad?: (entity: T) => void
}

/** What a class refers to, what goes along its references, and what is called when. */
export interface EntityOptions<T> extends Hooks<T> {
  readonly references?: { readonly [Name in ReferenceFields<T>]: Targets<TargetOf<T[Name]> & object> }
  /** Which references persist and remove go along. */
  readonly cascade?: { readonly [Name in ReferenceFields<T>]?: readonly Cascade[] }
}

/** Where a type has references, they must be declared. */
type OptionsArguments<T> = [ReferenceFields<T>] extends [never]
  ? [options?: EntityOptions<T>]
  : [options: EntityOptions<T> & Required<Pick<EntityOptions<T>, 'references'>>]

/** What a manager needs to know of a class. */
export interface Declaration {
  readonly type: EntityClass<object>
  readonly bucket: string
  readonly references: Readonly<Record<string, Targets<object>>>
  readonly cascade: Readonly<Record<string, readonly Cascade[]>>
  readonly hooks: Hooks<object>
}

const declarations = new WeakMap<object, Declaration>()

/** Declares a class of its own for these fields: `new Roaster({ name: 'Ann' })`. */
export function entity<T extends object>(bucket: string, ...options: OptionsArguments<T>): FieldsClass<T>
/** Declares a class, and returns it. */
export function entity<T extends object, Class extends EntityClass<T>>(
  type: Class & EntityClass<T>,
  bucket: string,
  ...options: OptionsArguments<InstanceType<Class>>
): Class
export function entity(
  ...[first, second, third]: [string, EntityOptions<object>?] | [EntityClass<object>, string, EntityOptions<object>?]
): EntityClass<object> {
  if (typeof first === 'string') return declare(fieldsClass(), first, second as EntityOptions<object> | undefined)
  return declare(first, second as string, third)
}

/** Throws TypeError unless the class was declared. */
export function declarationOf(type: unknown): Declaration {
  const found = typeof type === 'function' ? declarations.get(type) : undefined
  if (found) return found
  const name = typeof type === 'function' ? `The class ${type.name || 'without a name'}` : 'This'
  throw new TypeError(`${name} is no entity class. Declare it with entity(Type, 'namespace/bucket').`)
}

export function declarationOfEntity(entity: object): Declaration {
  if (typeof entity !== 'object' || entity === null) throw new TypeError('An entity is an object.')
  return declarationOf((Object.getPrototypeOf(entity) as { constructor?: unknown } | null)?.constructor)
}

/** Calls a hook, which must be done when it returns: one that waits for the manager that waits for it would never be. */
export function callHook(declaration: Declaration, name: keyof Hooks<object>, entity: object): void {
  const result: unknown = declaration.hooks[name]?.(entity)
  if (typeof (result as { then?: unknown } | undefined)?.then !== 'function') return
  // What it does later is nobody's to await; that it failed is said here already.
  Promise.resolve(result).catch(() => undefined)
  throw new TypeError(`${name} of ${declaration.bucket} is async. Hooks must be done when they return.`)
}

function declare<Class extends EntityClass<object>>(
  type: Class,
  bucket: string,
  { references = {}, cascade = {}, ...hooks }: EntityOptions<object> = {},
): Class {
  parseBucketName(bucket)
  if ('then' in type.prototype) {
    throw new TypeError(
      `${type.name} has a method 'then', so no promise could hold one of them. Call it something else.`,
    )
  }
  for (const field of Object.keys(cascade)) {
    if (!Object.hasOwn(references, field))
      throw new TypeError(`${bucket} cascades along ${field}, which is no reference.`)
  }
  declarations.set(type, { type, bucket, references, cascade, hooks })
  return type
}

function fieldsClass(): EntityClass<object> {
  return class {
    constructor(fields: object) {
      Object.assign(this, fields)
    }
  }
}
