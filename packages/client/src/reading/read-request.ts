/** What is read: an object, a page of a bucket, or the result of a query. */
import type { Path, Position } from '@freshet/protocol'
import type { Body } from './read-answer.js'

export interface ReadRequest {
  /** Of the object, or of the bucket. */
  readonly path: Path
  /** By name in order; values encoded; '' for a parameter that stands alone. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** What must not have changed since: the path itself; for some objects of a bucket, theirs. */
  readonly sketchPaths: readonly Path[]
  /** Of a query: what else must not have changed since is said by the answer itself; empty if there is no such bucket. */
  readonly hangsOn?: (body: Body) => readonly Path[]
  readonly as: 'text' | 'bytes'
  /** Whether the answer has an ETag: not if it is some objects of a bucket, of which each has its own. */
  readonly hasVersion: boolean
  /** What a copy of it is kept under: its URL without `at`. */
  readonly name: string
}

export function objectRequest(path: Path, as: 'text' | 'bytes'): ReadRequest {
  // A bucket's JSON may be asked for as text and as bytes; those are two copies.
  return { path, query: [], sketchPaths: [path], as, hasVersion: true, name: as === 'text' ? path : `${path}#bytes` }
}

export function listRequest(
  path: Path,
  parameters: Readonly<Record<string, string | undefined>>,
  sketchPaths: readonly Path[] = [path],
): ReadRequest {
  const query = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .sort(byName)
  return {
    path,
    query,
    sketchPaths,
    as: 'text',
    hasVersion: parameters.ids === undefined,
    name: path + spell(query),
  }
}

/** Path and query in the one spelling that the server does not redirect. */
export function targetOf({ path, query }: ReadRequest, at: Position | undefined): string {
  if (at === undefined) return path + spell(query)
  if (query.length === 0) return `${path}?at=${at}`
  return path + spell([...query, ['at', `${at}`] as const].sort(byName))
}

function spell(query: ReadRequest['query']): string {
  if (query.length === 0) return ''
  return `?${query.map(([name, value]) => (value === '' ? name : `${name}=${value}`)).join('&')}`
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** As URLs spell it within a query, where fetch encodes an apostrophe of itself. */
export function spellValue(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27')
}
