/** Answers what Node refuses before there is a request: also with a problem document that no cache keeps. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { FreshetError } from '@freshet/protocol'
import { overLimit } from '../settings/limits.js'
import type { ServerSettings } from '../settings/server-settings.js'
import { problemAnswer } from './answer.js'
import { newRequestId } from './exchange.js'

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

/** Node keeps the response that is due next on the socket. There is no documented way to find it. */
interface AnsweringSocket extends Duplex {
  readonly _httpMessage?: ServerResponse | null
}

export type BrokenRequestLimits = Pick<ServerSettings, 'urlBytesMax' | 'headerBytesMax' | 'requestMsMax'>

/** For the server's `clientError`. */
export function answerBroken(error: Error, socket: AnsweringSocket, settings: BrokenRequestLimits): void {
  const due = socket._httpMessage
  if (!socket.writable || (error as { code?: string }).code === 'ECONNRESET') socket.destroy()
  // The broken bytes follow a complete request, which is answered first.
  else if (due?.req.complete && !due.writableFinished)
    due.once('finish', () => answerRaw(socket, toRefusal(error, settings)))
  // Half of an answer has been sent already: anything more would be taken for its end.
  else if (due?.headersSent) socket.destroy()
  else answerRaw(socket, toRefusal(error, settings))
}

/** For CONNECT, which Node passes as a bare connection. */
export function refuseTunnel(socket: Duplex): void {
  answerRaw(
    socket,
    new FreshetError('METHOD_NOT_ALLOWED', 'This server is not a proxy.', { details: { allow: ['GET', 'HEAD'] } }),
  )
}

function toRefusal(cause: Error, settings: BrokenRequestLimits): FreshetError {
  const { code } = cause as { code?: string }
  if (code === 'HPE_HEADER_OVERFLOW') return headersTooLarge(settings, cause)
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooLate(settings, cause)
  return new FreshetError('HEADER_INVALID', 'This is not a valid HTTP/1.1 request.', { cause })
}

function headersTooLarge({ urlBytesMax, headerBytesMax }: BrokenRequestLimits, cause: Error): FreshetError {
  return overLimit({
    code: 'HEADERS_TOO_LARGE',
    limit: 'headerBytesMax',
    what: `The URL and the headers together are longer than the ${urlBytesMax + headerBytesMax} bytes that this server accepts.`,
    instead: 'Send fewer or shorter headers; cookies are of no use here',
    details: { urlBytesMax, headerBytesMax },
    cause,
  })
}

function tooLate({ requestMsMax }: BrokenRequestLimits, cause: Error): FreshetError {
  return overLimit({
    code: 'REQUEST_INCOMPLETE',
    limit: 'requestMsMax',
    what: `The request did not arrive within ${requestMsMax} ms. Nothing was done.`,
    instead: 'Send it again without pauses, send less at once',
    details: { requestMsMax },
    cause,
  })
}

function answerRaw(socket: Duplex, error: FreshetError): void {
  const { status, headers, body = '' } = problemAnswer(error, newRequestId())
  const lines = [`HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  lines.push(`Date: ${new Date().toUTCString()}`, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close')
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
}
