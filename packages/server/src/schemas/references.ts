/**
 * References between objects: `"x-reference": "shop/customers"` says that a text is the id of an object there. With `{
 * "bucket": "shop/customers", "check": true }`, that object must exist when the reference is written.
 *
 * The checked references of a schema are found once, as paths into objects. That is possible only where the object does not
 * decide which part of the schema applies: below `properties`, `items`, `allOf` and `$ref`. Elsewhere, a schema with a checked
 * reference is refused, so that no check is silently left out.
 */
import { FreshetError, type JsonSchema, type Key, parseBucketName, type Reference } from '@freshet/protocol'
import { isObject, subschemas } from './subschemas.js'

const KEYWORD = 'x-reference'
export interface CheckedReference {
  readonly bucket: Key
  /** Names of fields; null for each element of a list. */
  readonly path: readonly (string | null)[]
}

export interface FoundReference {
  readonly bucket: Key
  readonly id: string
  /** JSON pointer. */
  readonly at: string
}

/** The checked references of a valid schema. Throws SCHEMA_INVALID. */
export function checkedReferences(schema: JsonSchema): readonly CheckedReference[] {
  const found: CheckedReference[] = []
  const reached = new Set<JsonSchema>()
  walk(schema, [], [])
  for (const inner of subschemas(schema)) {
    const reference = referenceOf(inner)
    if (!reference?.check || reached.has(inner)) continue
    throw invalid(
      `a checked reference to ${reference.bucket} is at a place where it cannot be followed. ` +
        'Reach it only through properties, items, allOf and $ref, without cycles; or leave out "check"',
    )
  }
  return found

  function walk(node: unknown, path: CheckedReference['path'], above: readonly unknown[]): void {
    if (!isObject(node) || above.includes(node)) return
    const inside = [...above, node]
    const reference = referenceOf(node)
    if (reference?.check) {
      reached.add(node)
      found.push({ bucket: reference.bucket, path })
    }
    if (isObject(node.properties)) {
      for (const [name, inner] of Object.entries(node.properties)) walk(inner, [...path, name], inside)
    }
    // After prefixItems, items describes only the remaining elements.
    if (node.prefixItems === undefined) walk(node.items, [...path, null], inside)
    if (Array.isArray(node.allOf)) for (const inner of node.allOf) walk(inner, path, inside)
    if (typeof node.$ref === 'string') walk(follow(schema, node.$ref), path, inside)
  }
}

/** Every text at the place of a checked reference. */
export function referencesIn(value: unknown, references: readonly CheckedReference[]): readonly FoundReference[] {
  return references.flatMap(({ bucket, path }) => textsAt(value, path, '').map(found => ({ bucket, ...found })))
}

function textsAt(value: unknown, [step, ...rest]: CheckedReference['path'], at: string): { id: string; at: string }[] {
  if (step === undefined) return typeof value === 'string' ? [{ id: value, at }] : []
  if (step === null) {
    return Array.isArray(value) ? value.flatMap((element, i) => textsAt(element, rest, `${at}/${i}`)) : []
  }
  if (!isObject(value) || !Object.hasOwn(value, step)) return []
  return textsAt(value[step], rest, `${at}/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

function referenceOf(schema: JsonSchema): Reference | undefined {
  const value = schema[KEYWORD]
  if (value === undefined) return undefined
  const reference = typeof value === 'string' ? { bucket: value } : value
  if (!isObject(reference) || Object.keys(reference).some(name => name !== 'bucket' && name !== 'check'))
    throw malformed()
  const { bucket, check = false } = reference
  if (typeof bucket !== 'string' || typeof check !== 'boolean') throw malformed()
  try {
    parseBucketName(bucket)
  } catch (cause) {
    throw invalid(`in ${KEYWORD}: ${(cause as Error).message.replace(/\.$/, '')}`)
  }
  return { bucket, check }
}

/** Follows a JSON pointer within the schema; the validator has refused dangling ones. Other references are not followed. */
function follow(schema: JsonSchema, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  const steps = decodeURIComponent(reference.slice(1)).split('/').slice(1)
  return steps
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], schema)
}

function malformed(): FreshetError {
  return invalid(`${KEYWORD} must be the name of a bucket, or { "bucket": "shop/customers", "check": true }`)
}

function invalid(reason: string): FreshetError {
  return new FreshetError('SCHEMA_INVALID', `This is not a valid schema for a bucket: ${reason}.`)
}
