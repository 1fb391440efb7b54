/**
 * What a request with an `Idempotency-Key` is, so that it takes effect once: its id, and a print of what it asks for.
 *
 * Each caller has ids of its own: as a store sees them they carry the caller's identity (`access/identity.ts`), with a character that no
 * key can have. Callers without a token have none, and share theirs.
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
  /** The same for the same request, and for no other. */
  readonly fingerprint: string
  /** As it was remembered before ids were of one caller (`former-operations.ts`). */
  readonly former?: Pick<AskedOperation, 'id' | 'fingerprint'> | undefined
}

/** Whose an operation is. */
export type Asker = Pick<Caller, 'identity' | 'subject' | 'claims'>

/** What else than method, target and body makes it another request. */
const HEADERS = ['content-type', 'if-match', 'if-none-match'] as const
/** 72 bits: it tells mistakes, of which there are few. */
const FINGERPRINT_LENGTH = 12

/** Undefined if it has no id. Throws IDEMPOTENCY_KEY_INVALID. */
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

/** `fingerprintWith`: with these parts more. */
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
