/**
 * Reads the body of a request to its end, but no further than the limit, into one buffer. After a refusal, the unread rest must
 * not be taken for the next request: see `Connection: close` in the code that sends refusals.
 */
import type { IncomingMessage } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import { overLimit } from '../settings/limits.js'
import type { BodyReceipt } from './body-intake.js'
import type { Exchange } from './exchange.js'

/** Throws HEADER_INVALID for a body where none is allowed, or whose extent proxies could disagree about. */
export function refuseBody({ method, headers }: IncomingMessage): void {
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return
  throw new FreshetError('HEADER_INVALID', `A ${method} request has no body here. Send it without one.`)
}

export type SizeSetting = 'bodyBytesMax' | 'commitBodyBytesMax'

const CAPACITY_MIN = 4096
/**
 * Each piece costs as much as some bytes. So a body may have `PIECES_MIN` pieces, and one more for every `BYTES_PER_PIECE_MIN`
 * bytes.
 */
const PIECES_MIN = 4096
const BYTES_PER_PIECE_MIN = 16

/**
 * `setting`: the setting that `bytesMax` comes from, if it comes from one. Throws HEADER_INVALID, CONTENT_TYPE_UNSUPPORTED (a
 * Content-Encoding), BODY_TOO_LARGE, REQUEST_INCOMPLETE, SERVER_BUSY. Check the caller's rights before calling this.
 */
export async function readBody(
  exchange: Exchange,
  bytesMax: number,
  setting?: SizeSetting,
): Promise<Buffer<ArrayBuffer>> {
  const { request, response, intake } = exchange
  if (intake === undefined) throw new Error(`${exchange.route} takes no body.`)
  checkFraming(request, bytesMax, setting)
  if (request.headers.expect !== undefined) response.writeContinue()
  const lengthMax = Math.min(bytesMax, Number(request.headers['content-length'] ?? bytesMax))
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      body.drop()
      receipt.release()
      reject(error)
    }
    const receipt = intake.begin(request, response, refuse)
    const body = new GrowingBody(receipt, lengthMax, bytesMax, setting)
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
    // Every request is closed eventually. The error is created only if needed, since that takes as long as reading a body.
    request.on('close', () => hasEnded || refuse(incomplete()))
    request.on('error', cause => refuse(incomplete(cause)))
  })
}

/** One buffer for all pieces: it doubles when it is full, up to the limit. */
class GrowingBody {
  readonly #receipt: BodyReceipt
  readonly #lengthMax: number
  readonly #bytesMax: number
  readonly #setting: SizeSetting | undefined
  #buffer: Buffer<ArrayBuffer> = NOTHING
  #length = 0
  #pieces = 0
  #isDropped = false

  /** `lengthMax`: the declared length, or else the longest allowed. */
  constructor(receipt: BodyReceipt, lengthMax: number, bytesMax: number, setting: SizeSetting | undefined) {
    this.#receipt = receipt
    this.#lengthMax = lengthMax
    this.#bytesMax = bytesMax
    this.#setting = setting
  }

  /** Throws BODY_TOO_LARGE, SERVER_BUSY. */
  add(piece: Buffer<ArrayBuffer>): void {
    if (this.#isDropped) return
    const length = this.#length + piece.length
    this.#pieces++
    this.#receipt.arrived(piece.length)
    if (length > this.#bytesMax) throw tooLarge(this.#bytesMax, this.#setting)
    if (this.#pieces > PIECES_MIN + length / BYTES_PER_PIECE_MIN) throw tooManyPieces()
    // Most bodies arrive in one piece, which becomes the buffer.
    if (this.#length === 0 && length === this.#lengthMax) {
      this.#receipt.hold(length)
      this.#buffer = piece
    } else {
      if (length > this.#buffer.length) this.#grow(length)
      this.#buffer.set(piece, this.#length)
    }
    this.#length = length
  }

  /** A buffer of exactly these bytes, since stores and caches may keep it. */
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

function checkFraming({ headers }: IncomingMessage, bytesMax: number, setting: SizeSetting | undefined): void {
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
  if (length !== undefined && Number(length) > bytesMax) throw tooLarge(bytesMax, setting, Number(length))
}

/** `setting`: undefined if no setting changes the limit. `bytes`: the whole length, if it is known. */
function tooLarge(bytesMax: number, setting?: SizeSetting, bytes?: number): FreshetError {
  const size = bytes === undefined ? 'The body is longer than' : `The body has ${bytes} bytes, more than`
  const what = `${size} the ${bytesMax} bytes that this server accepts here.`
  const details = { bytesMax, ...(bytes === undefined ? {} : { bytes }) }
  if (setting === undefined) return new FreshetError('BODY_TOO_LARGE', `${what} Send less.`, { details })
  const instead = setting === 'bodyBytesMax' ? 'Divide it into several objects' : 'Divide it into several requests'
  return overLimit({ code: 'BODY_TOO_LARGE', limit: setting, what, instead, details })
}

/** Throws BODY_TOO_LARGE. `what`: such as `The patched object`. */
export function checkObjectSize(what: string, { length: bytes }: Uint8Array, bytesMax: number): void {
  if (bytes <= bytesMax) return
  throw overLimit({
    code: 'BODY_TOO_LARGE',
    limit: 'bodyBytesMax',
    what: `${what} has ${bytes} bytes, more than the ${bytesMax} bytes that this server accepts for one object.`,
    instead: 'Divide it into several objects',
    details: { bytesMax, bytes },
  })
}

function tooManyPieces(): FreshetError {
  return new FreshetError(
    'BODY_TOO_LARGE',
    `The body arrived in pieces of less than ${BYTES_PER_PIECE_MIN} bytes. Send it whole, or in larger chunks.`,
    { details: { bytesPerPieceMin: BYTES_PER_PIECE_MIN } },
  )
}

function incomplete(cause?: unknown): FreshetError {
  return new FreshetError('REQUEST_INCOMPLETE', 'The connection was closed before the whole body had arrived.', {
    cause,
  })
}
