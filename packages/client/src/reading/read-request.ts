/** The target of a read: an object, a page of a bucket, or the result of a query. */
import type { Dependencies } from '@freshet/core/coherence'
import type { Path, Position } from '@freshet/protocol'
import type { Body } from '../http/transport.js'

export interface ReadRequest {
  /** The path of the object or of the bucket. */
  readonly path: Path
  /** Sorted by name; values are encoded; '' for a parameter without a value. */
  readonly query: readonly (readonly [name: string, value: string])[]
  /** The path itself; for several objects of a bucket, their paths; for a query, what is known before it is answered. */
  readonly dependsOn: Dependencies
  /** For a query: what the answer itself says that it depends on. The body is empty if there is no such bucket. */
  readonly dependenciesIn?: (body: Body) => Dependencies
  readonly as: 'text' | 'bytes'
  /** Whether the answer has an ETag: not if it holds several objects of a bucket, each with its own version. */
  readonly hasVersion: boolean
  /** The key under which a copy is kept: the URL without `at`. */
  readonly name: string
}

export function objectRequest(path: Path, as: 'text' | 'bytes'): ReadRequest {
  // A bucket's JSON may be requested as text and as bytes; those are two copies.
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

/** Path and query in the canonical spelling, which the server does not redirect. */
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

/** Encodes a value for the query of a URL, including the apostrophe, which fetch would encode itself. */
export function spellValue(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27')
}
