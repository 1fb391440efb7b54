/** What a request with an `Idempotency-Key` is, so that it takes effect once: its id, and a print of what it asks for. */
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type OperationId, parseOperationId } from '@freshet/protocol'

export interface AskedOperation {
  readonly id: OperationId
  /** The same for the same request, and for no other. */
  readonly fingerprint: string
}

/** What else than method, target and body makes it another request. */
const HEADERS = ['content-type', 'if-match', 'if-none-match'] as const
/** 72 bits: it tells mistakes, of which there are few. */
const FINGERPRINT_LENGTH = 12

/** What was done for one `subject` is not told to another. Undefined if it has no id. Throws IDEMPOTENCY_KEY_INVALID. */
export function readOperation(
  { method, url, headers }: IncomingMessage,
  body: Uint8Array | undefined,
  subject = '',
): AskedOperation | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  const parts = [method, url, ...HEADERS.map(name => headers[name] ?? ''), ...(subject === '' ? [] : [subject])]
  return { id: parseOperationId(String(key)), fingerprint: fingerprintOf(parts.join('\n'), body) }
}

export function fingerprintOf(text: string, body?: Uint8Array): string {
  const all = body === undefined ? text : Buffer.concat([Buffer.from(`${text}\n`), body])
  return hash('sha256', all, 'base64url').slice(0, FINGERPRINT_LENGTH)
}
