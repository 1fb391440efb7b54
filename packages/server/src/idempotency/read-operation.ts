/**
 * Identifies a request with an `Idempotency-Key`, so that it takes effect once: by its id, and a fingerprint of the request.
 *
 * Each caller has separate ids: in the store, they contain the caller's identity (`access/identity.ts`), with a character that no
 * key can have. Callers without a token have no identity, and share their ids.
 *
 *     own       client  IDENTITY.CLIENT
 *     foreign   id      IDENTITY KEY, or, if that would be too long for a store, two spaces and the key's hash
 */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { OPERATION_ID_BYTES_MAX, type OperationId, parseOperationId } from '@freshet/protocol'
import type { Caller } from '../access/caller.js'

export interface AskedOperation {
  readonly id: OperationId
  /** Equal for equal requests, and different for any others. */
  readonly fingerprint: string
  /** As the operation was remembered before ids belonged to one caller (`former-operations.ts`). */
  readonly former?: Pick<AskedOperation, 'id' | 'fingerprint'> | undefined
}

/** The caller to whom an operation belongs. */
export type Asker = Pick<Caller, 'identity' | 'subject' | 'claims'>

/** The headers that, besides method, target and body, make it another request. */
const HEADERS = ['content-type', 'if-match', 'if-none-match'] as const
/** 72 bits: enough to detect mistakes, of which there are few. */
const FINGERPRINT_LENGTH = 12

/** Undefined if the request has no id. Throws IDEMPOTENCY_KEY_INVALID. */
export function readOperation(
  { method, url, headers }: IncomingMessage,
  body: Uint8Array | undefined,
  asker: Asker | undefined,
): AskedOperation | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  const parts = [method, url, ...HEADERS.map(name => headers[name] ?? '')]
  const fingerprintWith = (more: readonly string[]) => fingerprintOf([...parts, ...more].join('\n'), body)
  return askedBy(asker, parseOperationId(String(key)), fingerprintWith)
}

/** `fingerprintWith`: further parts of the fingerprint. */
export function askedBy(
  asker: Asker | undefined,
  id: OperationId,
  fingerprintWith: (more: readonly string[]) => string,
): AskedOperation {
  const operation = { id: idOf(asker?.identity ?? '', id), fingerprint: fingerprintWith([]) }
  if (typeof asker?.claims?.sub !== 'string') return operation
  const { subject } = asker
  return {
    ...operation,
    get former() {
      return { id, fingerprint: fingerprintWith([subject]) }
    },
  }
}

function idOf(identity: string, id: OperationId): OperationId {
  if (identity === '') return id
  if (id.kind === 'own') return { ...id, client: `${identity}.${id.client}` }
  const text = `${identity} ${id.id}`
  return { kind: 'foreign', id: text.length <= OPERATION_ID_BYTES_MAX ? text : `${identity}  ${hashOf(id.id)}` }
}

export function fingerprintOf(text: string, body?: Uint8Array): string {
  const all = body === undefined ? text : Buffer.concat([Buffer.from(`${text}\n`), body])
  return hashOf(all).slice(0, FINGERPRINT_LENGTH)
}

function hashOf(text: string | Uint8Array): string {
  return hash('sha256', text, 'base64url')
}
