/** What is known of the classes that were declared as entities (`entity.ts`). */

/** Anything that makes a T. Loading does not call it: fields are set as stored, on the class's prototype. */
export type EntityClass<T extends object> = new (...values: never[]) => T

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
