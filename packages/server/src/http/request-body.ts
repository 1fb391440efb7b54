/**
 * The body of a request, read to its end and no further than the limit. What refuses it must not let the unread rest be
 * taken for the next request: see `Connection: close` where refusals are sent.
 */
import type { IncomingMessage } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import type { Exchange } from './exchange.js'

/** Throws HEADER_INVALID for a body that has no business there, or whose extent proxies could disagree about. */
export function refuseBody({ method, headers }: IncomingMessage): void {
  const length = headers['content-length']
  if (headers['transfer-encoding'] === undefined && (length === undefined || length === '0')) return
  throw new FreshetError('HEADER_INVALID', `A ${method} request has no body here. Send it without one.`)
}

/** Throws HEADER_INVALID, CONTENT_TYPE_UNSUPPORTED (a Content-Encoding), BODY_TOO_LARGE, REQUEST_INCOMPLETE. */
export async function readBody({ request, response }: Exchange, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  checkFraming(request, bytesMax)
  if (request.headers.expect !== undefined) response.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let hasEnded = false
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > bytesMax) reject(tooLarge(bytesMax))
      else chunks.push(chunk)
    })
    request.on('end', () => {
      hasEnded = true
      resolve(Buffer.concat(chunks, length))
    })
    // Every request is closed some time. An error is made only where it is needed: that takes as long as reading a body.
    request.on('close', () => hasEnded || reject(incomplete()))
    request.on('error', cause => reject(incomplete(cause)))
  })
}

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

function incomplete(cause?: unknown): FreshetError {
  return new FreshetError('REQUEST_INCOMPLETE', 'The connection was closed before the body had arrived.', { cause })
}
