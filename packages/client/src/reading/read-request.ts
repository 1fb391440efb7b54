/** What is read: an object, a page of a bucket, or the result of a query. */
import type { Dependencies } from '@freshet/core/coherence'
import type { Path, Position } from '@freshet/protocol'
import type { Body } from '../http/transport.js'

export interface ReadRequest {
  /** Of the object, or of the bucket. */
  readonly path: Path
  /** By name in order; values encoded; '' for a parameter that stands alone. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** The path itself; for some objects of a bucket, theirs; of a query, what is known before it is answered. */
  readonly dependsOn: Dependencies
  /** Of a query: what the answer itself says that it depends on. The body is empty if there is no such bucket. */
  readonly dependenciesIn?: (body: Body) => Dependencies
  readonly as: 'text' | 'bytes'
  /** Whether the answer has an ETag: not if it is some objects of a bucket, of which each has its own. */
  readonly hasVersion: boolean
  /** What a copy of it is kept under: its URL without `at`. */
  readonly name: string
}

export function objectRequest(path: Path, as: 'text' | 'bytes'): ReadRequest {
  // A bucket's JSON may be asked for as text and as bytes; those are two copies.
  const name = as === 'text' ? path : `${path}#bytes`
  return { path, query: [], dependsOn: { paths: [path] }, as, hasVersion: true, name }
}

export function listRequest(
  path: Path,
  parameters: Readonly<Record<string, string | undefined>>,
  paths: readonly Path[] = [path],
): ReadRequest {
  const query = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .sort(byName)
  return {
    path,
    query,
    dependsOn: { paths },
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
