/**
 * A query, from the program's options to its result. Loaded at the first query: most programs never make one.
 *
 * The result is as coherent as an object: the answer itself names what it depends on, and `core/coherence/session.ts` says which
 * state that must include. So a result may come from any cache, and is never older than promised.
 */
import type { Dependencies } from '@freshet/core/coherence'
import {
  FreshetError,
  formatQuery,
  type Path,
  type Query,
  type QueryAnswer,
  type QueryExplanation,
  type Sort,
} from '@freshet/protocol'
import type { Body } from '../http/transport.js'
import { checkStorable } from '../json/storable.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { ReadRequest } from '../reading/read-request.js'
import type { Reader, ReadResult } from '../reading/reader.js'
import type { QueryOptions } from './query-options.js'

/** The part of a bucket that a query needs. */
export interface QueriedBucket {
  readonly path: Path
  readonly reader: Reader
  pathOf(id: string): Path
}

export interface QueryRead {
  readonly answer: QueryAnswer
  readonly result: ReadResult
}

export async function readQuery<T>(bucket: QueriedBucket, options: QueryOptions<T>): Promise<QueryRead> {
  const result = await read(bucket, queryRequest(bucket.path, toQuery(options)), options)
  const answer = result.served.version === undefined ? NOTHING : parse<QueryAnswer>(result.body, isAnswer)
  bucket.reader.showPage(answer.items, id => bucket.pathOf(id), result)
  return { answer, result }
}

/** How the server executes the query. The server runs the query again, and no cache stores the answer. */
export async function explainQuery<T>(bucket: QueriedBucket, options: QueryOptions<T>): Promise<QueryExplanation> {
  const request = queryRequest(bucket.path, toQuery(options), [['explain', '']])
  const { body, served } = await read(bucket, request, options)
  if (served.version !== undefined) return parse<QueryExplanation>(body, ({ plan }) => plan !== undefined)
  throw new FreshetError('BUCKET_NOT_FOUND', `There is no bucket at ${bucket.path} to query.`)
}

/**
 * The query in the protocol's form. Throws TypeError for a filter that JSON would change: without `where`, a query finds
 * everything.
 */
export function toQuery<T>({ where, sort = [], limit, after, fields }: QueryOptions<T>): Query {
  if (where !== undefined) checkStorable(where, 'where')
  const sorts = typeof sort === 'string' ? [sort] : sort
  return {
    ...(where === undefined ? {} : { where: where as NonNullable<Query['where']> }),
    ...(sorts.length === 0 ? {} : { sort: sorts.map(toSort) }),
    ...(limit === undefined ? {} : { limit }),
    ...(after === undefined ? {} : { after }),
    ...(fields === undefined ? {} : { fields }),
  }
}

/** A bucket that does not exist is empty. */
const NOTHING: QueryAnswer = { items: [], version: 0 }

function read({ reader }: QueriedBucket, request: ReadRequest, options: ReadOptions): Promise<ReadResult> {
  const kept = reader.fromMemory(request, options)
  return kept ? Promise.resolve(kept) : reader.read(request, options)
}

function queryRequest(path: Path, asked: Query, more: ReadRequest['query'] = []): ReadRequest {
  const spelled = formatQuery(asked)
  const query = [...spelled.split('&').map(parameterOf), ...more].sort(([a], [b]) => (a < b ? -1 : 1))
  const settings = `${path}?settings`
  const dependenciesIn = (body: Body): Dependencies => ({ bucket: path, paths: [...tagPaths(path, body), settings] })
  const name = `${path}?${spelled}${more.map(([each]) => `&${each}`).join('')}`
  const dependsOn = { bucket: path, paths: [settings] }
  return { path, query, dependsOn, dependenciesIn, as: 'text', hasVersion: true, name }
}

function parameterOf(text: string): readonly [name: string, value: string] {
  const equals = text.indexOf('=')
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** The tags that a result depends on, as the sketch names them; or the whole bucket. */
function tagPaths(path: Path, body: Body): readonly Path[] {
  if (body === '') return [path]
  const { dependsOn } = parse<QueryAnswer>(body, value => value !== null)
  return dependsOn?.map(tag => `/db/${tag}`) ?? [path]
}

function toSort(text: string): Sort {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text }
}

function isAnswer({ items }: QueryAnswer): boolean {
  return Array.isArray(items)
}

function parse<Parsed>(body: Body, isWhole: (value: Parsed) => boolean): Parsed {
  try {
    const value = JSON.parse(String(body)) as Parsed
    if (isWhole(value)) return value
  } catch {
    // Not JSON: reported below.
  }
  throw new FreshetError(
    'ANSWER_INVALID',
    'The server returned something that is not the result of a query. Check for proxies on the way to the server.',
  )
}
