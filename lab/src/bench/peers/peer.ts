/** A server under comparison, and how it is asked for the same work: read one object, replace one object. */
import type { StopList } from '../../harness/start-in-order.js'
import type { WrkRequest } from '../http/wrk.js'

export interface Peer {
  readonly name: string
  readonly url: string
  /** What an acknowledged write survives. */
  readonly durability: string
  readonly read: (index: number) => WrkRequest
  readonly write: (index: number) => WrkRequest
}

/** Where a peer may keep its files, and the servers that several peers use. */
export interface Stage {
  /** What is started is added here, and so stopped at the end, also if its peer fails to start. */
  readonly stops: StopList
  readonly folder: string
  /** The URL of a new, empty database in PostgreSQL. */
  createDatabase(name: string): Promise<string>
  readonly redisUrl: string
}

export interface PeerEntry {
  readonly name: string
  start(stage: Stage): Promise<Peer>
}

/** Why a peer is left out: its message says what is missing. */
export class PeerMissing extends Error {
  override readonly name = 'PeerMissing'
}

export const OBJECTS = 1000
const BODY_BYTES = 500
const JSON_TYPE = { 'Content-Type': 'application/json' }

/** About 500 bytes as JSON, without an id. */
export function productOf(index: number): { readonly name: string; readonly price: number; readonly text: string } {
  const empty = { name: `Product ${index}`, price: index, text: '' }
  return { ...empty, text: 'x'.repeat(BODY_BYTES - JSON.stringify(empty).length) }
}

export function getOf(path: string, headers: Readonly<Record<string, string>> = {}): WrkRequest {
  return { method: 'GET', path, headers }
}

export function jsonRequest(
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): WrkRequest {
  return { method, path, headers: { ...JSON_TYPE, ...headers }, body: JSON.stringify(value) }
}

/** Sends one request of the kind that `wrk` will repeat. Throws, with what the server says, if it is refused. */
export async function send(url: string, { method = 'GET', path, headers = {}, body }: WrkRequest): Promise<Response> {
  const response = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) })
  if (!response.ok) throw new Error(`${method} ${url}${path} was answered ${response.status}: ${await response.text()}`)
  return response
}

/** Writes all objects, a few at a time. */
export async function fill(url: string, requestOf: (index: number) => WrkRequest): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < OBJECTS) await (await send(url, requestOf(next++))).arrayBuffer()
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}
