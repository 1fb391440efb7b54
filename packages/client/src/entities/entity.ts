/**
 * How entities are declared: without decorators, either for a class of your own or, if it would have fields only, from a type
 * alone:
 *
 *     entity(Coffee, 'shop/coffees', { references: { parent: () => Coffee } })
 *     const Roaster = entity<RoasterFields>('shop/roasters')
 *
 * The target of a reference is given as a function, so that classes may refer to each other in any order. The types show which
 * fields are references, and each of them must be declared: the stored value is an id, and only the declaration says of which
 * class.
 */
import { parseBucketName } from '@freshet/protocol'
import { type Cascade, type EntityClass, type Hooks, setDeclaration, type Targets } from './declaration.js'
import type { Reference } from './reference.js'

/** What `entity` returns if it is given no class. */
export type FieldsClass<T extends object> = new (fields: T) => T

/** The class that a field refers to; never, if the field is not a reference. */
export type TargetOf<Field> =
  NonNullable<Field> extends Reference<infer Target>
    ? Target
    : NonNullable<Field> extends readonly Reference<infer Target>[]
      ? Target
      : never

/** The names of the fields of T that are references. */
export type ReferenceFields<T> = {
  [Name in keyof T]-?: [TargetOf<T[Name]>] extends [never] ? never : Name
}[keyof T] &
  string

/** Replaces ids by references in a type, such as a generated one. */
export type WithReferences<Fields, To extends { readonly [Name in keyof To]: object }> = Omit<Fields, keyof To> &
  Referring<Pick<Fields, keyof To & keyof Fields>, To>

type Referring<Fields, To extends { readonly [Name in keyof To]: object }> = {
  [Name in keyof Fields]:
    | (NonNullable<Fields[Name]> extends readonly unknown[]
        ? Reference<To[Name & keyof To]>[]
        : Reference<To[Name & keyof To]>)
    | Extract<Fields[Name], null | undefined>
}

/** The references of a class, what cascades along them, and its hooks. */
export interface EntityOptions<T> extends Hooks<T> {
  /** The class that each reference refers to, as a function: classes may refer to each other in any order. */
  readonly references?: { readonly [Name in ReferenceFields<T>]: Targets<TargetOf<T[Name]> & object> }
  /** Along which references persist and remove cascade. */
  readonly cascade?: { readonly [Name in ReferenceFields<T>]?: readonly Cascade[] }
}

/** If a type has references, they must be declared. */
type OptionsArguments<T> = [ReferenceFields<T>] extends [never]
  ? [options?: EntityOptions<T>]
  : [options: EntityOptions<T> & Required<Pick<EntityOptions<T>, 'references'>>]

/**
 * Declares a new class for these fields. The bucket keeps its entities.
 *
 * @example
 * import { entity } from '@freshet/client/entities'
 *
 * const Roaster = entity<{ name: string; city: string }>('shop/roasters')
 * console.log(new Roaster({ name: 'Ann', city: 'Kingston' }).city) // Kingston
 */
export function entity<T extends object>(bucket: string, ...options: OptionsArguments<T>): FieldsClass<T>
/**
 * Declares a class of your own, and returns it. Each field that refers to another entity must be among the `references`.
 *
 * @example
 * import { entity, Reference } from '@freshet/client/entities'
 *
 * class Bean {
 *   constructor(
 *     public name: string,
 *     public parent: Reference<Bean> | null,
 *   ) {}
 * }
 * entity(Bean, 'shop/beans', { references: { parent: () => Bean }, cascade: { parent: ['persist'] } })
 * const child = new Bean('Peaberry', Reference.to(new Bean('Arabica', null)))
 * await em.persist(child) // and its parent, by the cascade
 * await em.flush()
 */
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

function declare<Class extends EntityClass<object>>(
  type: Class,
  bucket: string,
  { references = {}, cascade = {}, ...hooks }: EntityOptions<object> = {},
): Class {
  parseBucketName(bucket)
  if ('then' in type.prototype) {
    throw new TypeError(`${type.name} has a method 'then', so no promise could hold an instance. Rename the method.`)
  }
  for (const field of Object.keys(cascade)) {
    if (!Object.hasOwn(references, field))
      throw new TypeError(`${bucket} cascades along ${field}, which is not a reference. Add it to references.`)
  }
  setDeclaration({ type, bucket, references, cascade, hooks })
  return type
}

function fieldsClass(): EntityClass<object> {
  return class {
    constructor(fields: object) {
      Object.assign(this, fields)
    }
  }
}
