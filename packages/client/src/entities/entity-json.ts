/**
 * Entities to JSON and back. What is stored is plain, so that any other client can read it: a reference is the id of what it
 * refers to, or `shop/coffees/42` if the declaration allows several classes.
 *
 * Fields hold JSON only. A Date, a Map or an instance of a class would not be read back unchanged, so they are refused rather
 * than converted. A field that is undefined is left out.
 */
import { FreshetError, objectKey, parseBucketName } from '@freshet/protocol'
import { type Declaration, declarationOf, type Targets } from './declaration.js'
import { Reference, type ReferenceTarget } from './reference.js'

/** Makes the reference that an id stands for. */
export type Refer = (declaration: Declaration, id: string) => Reference<object>

/** A copy that shares nothing with the entity. Throws TypeError if a field holds something that JSON cannot. */
export function toStored(declaration: Declaration, entity: object): object {
  const { bucket, references } = declaration
  const fields: [string, unknown][] = []
  for (const [name, value] of Object.entries(entity)) {
    const place = `${bucket}, field ${name}`
    const targets = Object.hasOwn(references, name) ? references[name] : undefined
    if (value === undefined) continue
    fields.push([name, targets ? storedReference(value, targets, place) : copyJson(value, place)])
  }
  return Object.fromEntries(fields)
}

/** Sets the entity's fields to the stored ones. */
export function setFields(declaration: Declaration, entity: object, stored: object, refer: Refer): void {
  const { bucket, references } = declaration
  const fields = Object.entries(stored).map(([name, value]): [string, unknown] => {
    const targets = Object.hasOwn(references, name) ? references[name] : undefined
    return [name, targets ? readReference(value, targets, refer, `${bucket}, field ${name}`) : value]
  })
  replaceFields(entity, fields)
}

/** Sets the fields of one entity to those of another. References are shared, everything else is copied. */
export function copyFields(declaration: Declaration, from: object, to: object): void {
  const { bucket, references } = declaration
  const fields = Object.entries(from).map(([name, value]): [string, unknown] => {
    if (Object.hasOwn(references, name)) return [name, Array.isArray(value) ? [...value] : value]
    return [name, value === undefined ? value : copyJson(value, `${bucket}, field ${name}`)]
  })
  replaceFields(to, fields)
}

/** The references in a field of an entity. */
export function referencesIn(entity: object, field: string): Reference<object>[] {
  const value = (entity as Record<string, unknown>)[field]
  return (Array.isArray(value) ? value : [value]).filter(each => each instanceof Reference)
}

/**
 * Defines the fields instead of assigning them: a stored `__proto__`, or a field with the name of a setter, is data like any
 * other.
 */
function replaceFields(entity: object, fields: readonly (readonly [string, unknown])[]): void {
  for (const name of Object.keys(entity)) Reflect.deleteProperty(entity, name)
  for (const [name, value] of fields) {
    Object.defineProperty(entity, name, { value, writable: true, enumerable: true, configurable: true })
  }
}

function storedReference(value: unknown, targets: Targets<object>, place: string): unknown {
  if (value === null) return null
  if (Array.isArray(value)) return value.map((each, i) => storedReference(each, targets, `${place}[${i}]`))
  if (!(value instanceof Reference)) {
    throw new TypeError(`${place} must hold a reference. Make one with Reference.to(entity) or em.reference(Type, id).`)
  }
  const { declaration, id } = targetOf(value, place)
  const { bucket } = declaration
  const types = targets()
  const allowed = (Array.isArray(types) ? types : [types]).map(type => declarationOf(type).bucket)
  if (!allowed.includes(bucket))
    throw new TypeError(
      `${place} refers to ${bucket}, but was declared for ${allowed.join(', ')}. Add the class to references.`,
    )
  return Array.isArray(types) ? objectKey({ ...parseBucketName(bucket), id }) : id
}

function targetOf(reference: Reference<object>, place: string): ReferenceTarget {
  try {
    return Reference.targetOf(reference)
  } catch (cause) {
    const message = `${place} refers to a new entity. Persist that entity too, or declare cascade: ['persist'] for the field.`
    throw new TypeError(message, { cause })
  }
}

function readReference(value: unknown, targets: Targets<object>, refer: Refer, place: string): unknown {
  if (value === null) return null
  if (Array.isArray(value)) return value.map((each, i) => readReference(each, targets, refer, `${place}[${i}]`))
  const types = targets()
  if (typeof value === 'string') {
    if (!Array.isArray(types)) return refer(declarationOf(types), value)
    const slash = value.lastIndexOf('/')
    const declaration = types.map(declarationOf).find(({ bucket }) => bucket === value.slice(0, slash))
    if (declaration) return refer(declaration, value.slice(slash + 1))
  }
  throw new FreshetError(
    'ANSWER_INVALID',
    `${place} holds ${JSON.stringify(value)}, which does not refer to any class it was declared for. Correct the stored value, or ` +
      'the declaration.',
  )
}

function copyJson(value: unknown, place: string, within: readonly object[] = []): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // A number that was rounded when read is written back only if it was changed: the commit checks what is sent.
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw notJson(place, typeof value === 'number' ? String(value) : typeof value)
  if (within.includes(value)) throw notJson(place, 'a circle')
  const inside = [...within, value]
  if (Array.isArray(value)) return Array.from(value, (each, i) => copyJson(each, `${place}[${i}]`, inside))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(place, nameOfClass(value))
  const present = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(present.map(([name, each]) => [name, copyJson(each, `${place}.${name}`, inside)]))
}

function nameOfClass(value: object): string {
  const type = (value as { constructor?: { name?: string } }).constructor
  return type?.name ? `a ${type.name}` : 'an object of a class'
}

function notJson(place: string, what: string): TypeError {
  return new TypeError(
    `${place} holds ${what}, which JSON cannot hold. Store dates as text, embedded values as plain objects, other entities as ` +
      'declared references.',
  )
}
