/** The declarations of entity classes (`entity.ts`). */

/**
 * A class whose instances are of type T. Loading does not call the constructor: it sets the stored fields on an object with the
 * class's prototype.
 */
export type EntityClass<T extends object> = new (...values: never[]) => T

/** For several classes, the stored reference is `shop/coffees/42` instead of `42`. */
export type Targets<T extends object> = () => EntityClass<T> | readonly EntityClass<T>[]

/** What cascades along a reference: persisting, or removing, an entity does the same to the one it refers to. */
export type Cascade = 'persist' | 'remove'

/** Each hook is called with the entity and must be synchronous. A hook that throws prevents the operation. */
export interface Hooks<T> {
  /** Called when the entity is about to become managed for the first time. */
  readonly beforePersist?: (entity: T) => void
  /** Called in a flush, when a stored entity is about to be written again. Changes by the hook are written too. */
  readonly beforeUpdate?: (entity: T) => void
  /** Called when the entity is about to be marked as removed. */
  readonly beforeRemove?: (entity: T) => void
  /** Called after find, list or refresh have set the entity's fields. Changes by the hook count as changes. */
  readonly afterLoad?: (entity: T) => void
}

/** What a manager needs to know of a class. */
export interface Declaration {
  readonly type: EntityClass<object>
  readonly bucket: string
  readonly references: Readonly<Record<string, Targets<object>>>
  readonly cascade: Readonly<Record<string, readonly Cascade[]>>
  readonly hooks: Hooks<object>
}

const declarations = new WeakMap<object, Declaration>()

export function setDeclaration(declaration: Declaration): void {
  declarations.set(declaration.type, declaration)
}

/** Throws TypeError unless the class was declared. */
export function declarationOf(type: unknown): Declaration {
  const found = typeof type === 'function' ? declarations.get(type) : undefined
  if (found) return found
  const name = typeof type === 'function' ? `The class ${type.name || 'without a name'}` : 'This'
  throw new TypeError(`${name} is not an entity class. Declare it with entity(Type, 'namespace/bucket').`)
}

export function declarationOfEntity(entity: object): Declaration {
  if (typeof entity !== 'object' || entity === null)
    throw new TypeError('An entity must be an object of a declared class.')
  return declarationOf((Object.getPrototypeOf(entity) as { constructor?: unknown } | null)?.constructor)
}

/** Calls a hook, which must be synchronous: a hook that waits for the manager, which waits for the hook, would never end. */
export function callHook(declaration: Declaration, name: keyof Hooks<object>, entity: object): void {
  const result: unknown = declaration.hooks[name]?.(entity)
  if (typeof (result as { then?: unknown } | undefined)?.then !== 'function') return
  // Nothing awaits the promise; the failure is reported here.
  Promise.resolve(result).catch(() => undefined)
  throw new TypeError(
    `${name} of ${declaration.bucket} is async. Hooks must be synchronous: await before you call the manager.`,
  )
}
