/**
 * The id of an operation, by which it can be sent again and still take effect once: the value of the header
 * `Idempotency-Key`. Any program may make up ids of its own. Those of our clients say more:
 *
 *     f1.{client}.{sequence}.{settled}.{made}        f1.o6Vn0ZxMTbSe2yQk.17.15.8123456
 *
 *     client     at random, one for each connection; another one when an operation stays unanswered while others go on
 *     sequence   from 1, one for each operation
 *     settled    the client has the answer to every operation up to this one, or has given it up: none is sent again
 *     made       when the operation was begun, in milliseconds of the server's clock (`GET /time`)
 *
 * So a server has to remember only a client's unsettled operations.
 */
import { FreshetError } from '../freshet-error.js'

export type OperationId = OwnOperationId | ForeignOperationId

export interface OwnOperationId {
  readonly kind: 'own'
  readonly client: string
  readonly sequence: number
  readonly settledTo: number
  readonly madeMs: number
}

export interface ForeignOperationId {
  readonly kind: 'foreign'
  readonly id: string
}

export const OPERATION_ID_BYTES_MAX = 255
const OWN = /^f1\.([A-Za-z0-9_-]{16,32})\.([1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})\.(0|[1-9][0-9]{0,14})$/
const VISIBLE_ASCII = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** Throws IDEMPOTENCY_KEY_INVALID. Accepts the value in the quotes of the draft, `"abc"`, or without. */
export function parseOperationId(header: string): OperationId {
  const text = header.length >= 2 && header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  if (!text.startsWith('f1.')) {
    if (!VISIBLE_ASCII.test(text) || text.length > OPERATION_ID_BYTES_MAX) throw invalid()
    return { kind: 'foreign', id: text }
  }
  const match = OWN.exec(text)
  if (match === null) throw invalid()
  const sequence = Number(match[2])
  const settledTo = Number(match[3])
  if (settledTo >= sequence) throw invalid()
  return { kind: 'own', client: match[1]!, sequence, settledTo, madeMs: Number(match[4]) }
}

export function formatOperationId(id: OperationId): string {
  if (id.kind === 'foreign') return id.id
  const { client, sequence, settledTo, madeMs } = id
  return `f1.${client}.${sequence}.${settledTo}.${madeMs}`
}

function invalid(): FreshetError {
  return new FreshetError(
    'IDEMPOTENCY_KEY_INVALID',
    `An Idempotency-Key is 1 to ${OPERATION_ID_BYTES_MAX} visible ASCII characters without quotes and backslashes, such as a ` +
      'random UUID. Keys that begin with f1. are made by our clients, and must have their form.',
  )
}
