/**
 * The body of a request, read to its end and no further than the limit, into one buffer. What refuses it must not let the unread
 * rest be taken for the next request: see `Connection: close` where refusals are sent.
 */
import type { IncomingMessage } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import type { BodyReceipt } from './body-intake.js'
import type { Exchange } from './exchange.js'

/** Throws HEADER_INVALID for a body that has no business there, or whose extent proxies could disagree about. */
export function refuseBody({ method, headers }: IncomingMessage): void {
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return
  throw new FreshetError('HEADER_INVALID', `A ${method} request has no body here. Send it without one.`)
}

const CAPACITY_MIN = 4096
/** Each piece costs as much as some bytes do, so there may be some, and then one for every so many bytes. */
const PIECES_MIN = 4096
const BYTES_PER_PIECE_MIN = 16

/**
 * Throws HEADER_INVALID, CONTENT_TYPE_UNSUPPORTED (a Content-Encoding), BODY_TOO_LARGE, REQUEST_INCOMPLETE, SERVER_BUSY. Ask first
 * whether the caller may do what the body is for.
 */
export async function readBody(exchange: Exchange, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  const { request, response, intake } = exchange
  if (intake === undefined) throw new Error(`${exchange.route} takes no body.`)
  checkFraming(request, bytesMax)
  if (request.headers.expect !== undefined) response.writeContinue()
  const lengthMax = Math.min(bytesMax, Number(request.headers['content-length'] ?? bytesMax))
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      body.drop()
      receipt.release()
      reject(error)
    }
    const receipt = intake.begin(request, response, refuse)
    const body = new GrowingBody(receipt, lengthMax, bytesMax)
    let hasEnded = false
    request.on('data', (chunk: Buffer<ArrayBuffer>) => {
      try {
        body.add(chunk)
      } catch (error) {
        refuse(error)
      }
    })
    request.on('end', () => {
      hasEnded = true
      receipt.end()
      resolve(body.bytes())
    })
    // Every request is closed some time. An error is made only where it is needed: that takes as long as reading a body.
    request.on('close', () => hasEnded || refuse(incomplete()))
    request.on('error', cause => refuse(incomplete(cause)))
  })
}

/** One buffer, whatever the pieces: it doubles when it is full, up to the limit. */
class GrowingBody {
  readonly #receipt: BodyReceipt
  readonly #lengthMax: number
  readonly #bytesMax: number
  #buffer: Buffer<ArrayBuffer> = NOTHING
  #length = 0
  #pieces = 0
  #isDropped = false

  /** `lengthMax`: as long as it says that it is, or may be. */
  constructor(receipt: BodyReceipt, lengthMax: number, bytesMax: number) {
    this.#receipt = receipt
    this.#lengthMax = lengthMax
    this.#bytesMax = bytesMax
  }

  /** Throws BODY_TOO_LARGE, SERVER_BUSY. */
  add(piece: Buffer<ArrayBuffer>): void {
    if (this.#isDropped) return
    const length = this.#length + piece.length
    this.#pieces++
    this.#receipt.arrived(piece.length)
    if (length > this.#bytesMax) throw tooLarge(this.#bytesMax)
    if (this.#pieces > PIECES_MIN + length / BYTES_PER_PIECE_MIN) throw tooManyPieces()
    // Most bodies come in one piece, which is taken as it is.
    if (this.#length === 0 && length === this.#lengthMax) {
      this.#receipt.hold(length)
      this.#buffer = piece
    } else {
      if (length > this.#buffer.length) this.#grow(length)
      this.#buffer.set(piece, this.#length)
    }
    this.#length = length
  }

  /** Exactly its bytes, since stores and caches may keep them. */
  bytes(): Buffer<ArrayBuffer> {
    return this.#length === this.#buffer.length ? this.#buffer : Buffer.from(this.#buffer.subarray(0, this.#length))
  }

  drop(): void {
    this.#isDropped = true
    this.#buffer = NOTHING
  }

  #grow(length: number): void {
    const capacity = Math.min(this.#lengthMax, Math.max(length, 2 * this.#buffer.length, CAPACITY_MIN))
    this.#receipt.hold(capacity)
    const grown = Buffer.allocUnsafeSlow(capacity)
    grown.set(this.#buffer)
    this.#buffer = grown
  }
}

const NOTHING = Buffer.alloc(0)

function checkFraming({ headers }: IncomingMessage, bytesMax: number): void {
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw new FreshetError('HEADER_INVALID', 'Transfer-Encoding must be chunked, or be left out.')
  }
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new FreshetError(
      'CONTENT_TYPE_UNSUPPORTED',
      'A compressed body is not accepted. Send it without Content-Encoding.',
      {
        details: { acceptEncoding: 'identity' },
      },
    )
  }
  const length = headers['content-length']
  if (length !== undefined && !/^[0-9]{1,15}$/.test(length)) {
    throw new FreshetError('HEADER_INVALID', 'Content-Length must be a whole number of bytes.')
  }
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax)
}

export function tooLarge(bytesMax: number): FreshetError {
  return new FreshetError('BODY_TOO_LARGE', `The body is longer than ${bytesMax} bytes. Split what it holds.`, {
    details: { bytesMax },
  })
}

function tooManyPieces(): FreshetError {
  return new FreshetError(
    'BODY_TOO_LARGE',
    `The body comes in pieces of less than ${BYTES_PER_PIECE_MIN} bytes. Send it whole, or in larger chunks.`,
    { details: { bytesPerPieceMin: BYTES_PER_PIECE_MIN } },
  )
}

function incomplete(cause?: unknown): FreshetError {
  return new FreshetError('REQUEST_INCOMPLETE', 'The connection was closed before the body had arrived.', { cause })
}
