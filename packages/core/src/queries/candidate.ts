/**
 * What a query looks at: an object's id and its parsed value. A value that cannot be parsed, is not JSON, or is not an object
 * has no fields. Values are normalised for comparing and writing: -0 becomes 0, a number that is too large becomes the largest
 * number, and half a surrogate pair becomes U+FFFD. So equal values have one spelling, in tags, cursors and indexes.
 */
import { ID_FIELD, isWellFormed, type SortValue } from '@freshet/protocol'

export interface Candidate {
  readonly id: string
  /** The parsed value; undefined if it has no fields. */
  readonly value: object | undefined
}

const decoder = new TextDecoder()
const JSON_TYPE = /^application\/(?:[^;]+\+)?json *(?:;|$)/i

export function parseFields(contentType: string, body: Uint8Array): object | undefined {
  if (contentType !== 'application/json' && !JSON_TYPE.test(contentType)) return undefined
  try {
    const value: unknown = JSON.parse(decoder.decode(body))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The value of a field, by its dotted path; undefined if it is missing. */
export function fieldOf({ id, value }: Candidate, field: string): SortValue {
  return field === ID_FIELD ? id : valueAt(value, field)
}

export function valueAt(value: object | undefined, path: string): SortValue {
  if (!path.includes('.'))
    return isObject(value) && Object.hasOwn(value, path) ? normal(member(value, path)) : undefined
  let at: unknown = value
  for (const name of path.split('.')) {
    if (!isObject(at) || !Object.hasOwn(at, name)) return undefined
    at = member(at, name)
  }
  return normal(at)
}

function member(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name]
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function normal(value: unknown): SortValue {
  if (typeof value === 'number') return Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE) + 0
  if (typeof value === 'string' && !isWellFormed(value)) return value.replace(/\p{Surrogate}/gu, '\ufffd')
  return value as SortValue
}
