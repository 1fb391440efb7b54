/**
 * Where a page of a query ended: the sort's values of its last entry, and its id. So the next page begins just after it with
 * every plan, even if that entry has changed or was deleted. Opaque to readers; it is JSON, in which a missing value is [], and
 * an array or an object is {}.
 */
import { FreshetError } from '../freshet-error.js'
import type { Scalar } from './query.js'

/** A value that a sort compares: undefined is missing; an array or object is any object. */
export type SortValue = Scalar | undefined | object

export interface Place {
  readonly values: readonly SortValue[]
  readonly id: string
}

const OTHER: object = Object.freeze({})

export function formatCursor({ values, id }: Place): string {
  return JSON.stringify([...values.map(spell), id])
}

/** Throws QUERY_INVALID unless it is a cursor of a query with `sortFields` sort fields. */
export function parseCursor(text: string, sortFields: number): Place {
  const parts = parse(text)
  const id = parts?.at(-1)
  if (parts === undefined || typeof id !== 'string' || parts.length !== sortFields + 1) {
    throw new FreshetError(
      'QUERY_INVALID',
      'after is not a cursor of this query. Pass the `next` of a page with the same sort, or leave it out for the first page.',
    )
  }
  return { values: parts.slice(0, -1).map(read), id }
}

function parse(text: string): readonly unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(text)
    return Array.isArray(parts) ? parts : undefined
  } catch {
    return undefined
  }
}

function spell(value: SortValue): unknown {
  if (value === undefined) return []
  return typeof value === 'object' && value !== null ? OTHER : value
}

function read(part: unknown): SortValue {
  if (Array.isArray(part)) return undefined
  return typeof part === 'object' && part !== null ? OTHER : (part as Scalar)
}
