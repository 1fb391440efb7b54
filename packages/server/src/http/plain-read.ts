/**
 * By far the most common request: a read of one object under a plain name, such as `/db/shop/products/42?at=105`. It is
 * recognised here, by one expression over the URL and one pass over the names of the headers, and bypasses the router.
 * `request.headers` is not used: Node creates that object on first access, which takes a microsecond.
 *
 * Anything in the least unusual is left to the router, which then decides.
 */
import type { IncomingMessage } from 'node:http'
import type { Key, Position } from '@freshet/protocol'

export interface PlainRead {
  readonly key: Key
  readonly at: Position
  readonly ifNoneMatch: string | undefined
  readonly host: string
  readonly origin: string | undefined
  /** Empty, and so never valid, if there are several such headers. */
  readonly authorization: string | undefined
}

/** Nothing in the URL is encoded, so it is canonical. */
const URL_OF_PLAIN_READ =
  /^\/db\/[a-z0-9][a-z0-9_-]{0,62}\/[a-z0-9][a-z0-9_-]{0,62}\/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,199}(?:\?at=(?:0|[1-9][0-9]{0,14}))?$/
const PATH_START = '/db/'.length
const QUERY_START = '?at='.length

export function recognisePlainRead({ method, url = '', rawHeaders }: IncomingMessage): PlainRead | undefined {
  if (method !== 'GET') return undefined
  if (!URL_OF_PLAIN_READ.test(url)) return undefined
  let hosts = 0
  let host = ''
  let origin: string | undefined
  let ifNoneMatch: string | undefined
  let authorization: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!
    if (name.length === 4) {
      if (name.toLowerCase() === 'host') {
        hosts++
        host = rawHeaders[i + 1]!
      }
    } else if (name.length === 13) {
      const lower = name.toLowerCase()
      if (lower === 'authorization') authorization = authorization === undefined ? rawHeaders[i + 1] : ''
      else if (lower === 'if-none-match') {
        if (ifNoneMatch !== undefined) return undefined
        ifNoneMatch = rawHeaders[i + 1]
      }
    } else if (name.length === 6 && name.toLowerCase() === 'origin') {
      origin = rawHeaders[i + 1]
    } else if (isForRouter(name)) {
      return undefined
    }
  }
  if (hosts !== 1) return undefined
  const query = url.indexOf('?', PATH_START)
  return {
    key: query < 0 ? url.slice(PATH_START) : url.slice(PATH_START, query),
    at: query < 0 ? 0 : Number(url.slice(query + QUERY_START)),
    ifNoneMatch,
    host,
    origin,
    authorization,
  }
}

/**
 * Node opens, drains and closes a stream even for the body that a plain read does not have: three turns of its queue, a tenth
 * of the request. This marks the stream as drained. The field is not documented; if it is missing, Node drains the stream as
 * usual.
 */
export function leaveBodyAlone(request: IncomingMessage): void {
  const stream = request as unknown as { _dumped?: boolean }
  if (stream._dumped === false) stream._dumped = true
}

/** Compares lengths first, since most names differ in them. */
function isForRouter(name: string): boolean {
  switch (name.length) {
    case 6:
      return name.toLowerCase() === 'expect'
    case 8:
      return name.toLowerCase() === 'if-match'
    case 14:
      return name.toLowerCase() === 'content-length'
    case 17:
      return name.toLowerCase() === 'transfer-encoding'
    default:
      return false
  }
}
