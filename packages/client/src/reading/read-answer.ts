/** The answer to a read, with the facts in its headers. */
import type { Dependencies } from '@freshet/core/coherence'
import { FreshetError, POSITION_HEADER, type Position, parseEtag, parsePosition, type Version } from '@freshet/protocol'
import { type Body, glimpse, type Reply } from '../http/transport.js'
import type { ReadRequest } from './read-request.js'

export interface ReadAnswer {
  /** Undefined if there is no such object; 0 if the answer has no version of its own. */
  readonly version: Version | undefined
  /** The position of the state it was read from; undefined if a cache removed the header. */
  readonly position: Position | undefined
  /** Empty if there is no such object. */
  readonly body: Body
  readonly contentType: string
  readonly dependsOn: Dependencies
  /** Until when caches, and this process, may keep it, by the session's clock; 0 if they may not. */
  readonly freshUntilMs: number
  /** How long it has been in caches (Age); undefined if they do not report it. */
  readonly ageS: number | undefined
}

/** The codes of 404 answers that mean absence rather than a mistake. */
const ABSENT = ['OBJECT_NOT_FOUND', 'BUCKET_NOT_FOUND']

/** Throws the server's error, or ANSWER_INVALID. */
export function readAnswer(
  name: string,
  reply: Reply<Body>,
  askedAtMs: number,
  { hasVersion, dependsOn, dependenciesIn }: ReadRequest,
): ReadAnswer {
  const { problem, headers } = reply
  if (problem && !ABSENT.includes(problem.code)) throw problem
  const isOwn = /\bprivate\b/i.test(headers.get('cache-control') ?? '')
  // An answer for this caller only may lack a version, which could reveal objects hidden from the caller.
  const version = problem ? undefined : (parseEtag(headers.get('etag') ?? '') ?? (hasVersion && !isOwn ? undefined : 0))
  if (version === undefined && !problem) throw withoutVersion(name, reply)
  const ageS = wholeNumber(headers.get('age'))
  return {
    version,
    // An error answer also has it in its body.
    position: parsePosition(headers.get(POSITION_HEADER) ?? `${problem?.details.position}`),
    body: problem ? '' : reply.body,
    dependsOn: dependenciesIn?.(problem ? '' : reply.body) ?? dependsOn,
    contentType: headers.get('content-type') ?? '',
    freshUntilMs: askedAtMs + (lifetimeS(headers.get('cache-control') ?? '') - (ageS ?? 0)) * 1000,
    ageS,
  }
}

/** The lifetime counts from the request, not from the arrival: the answer may have been on its way since then. */
function lifetimeS(cacheControl: string): number {
  if (/\b(?:no-store|no-cache)\b/i.test(cacheControl)) return Number.NEGATIVE_INFINITY
  return wholeNumber(/\bmax-age=([0-9]+)/i.exec(cacheControl)?.[1] ?? null) ?? Number.NEGATIVE_INFINITY
}

function wholeNumber(text: string | null): number | undefined {
  return text !== null && /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined
}

function withoutVersion(name: string, { status, headers, body }: Reply<Body>): FreshetError {
  const shown = typeof body === 'string' ? body : ''
  return new FreshetError(
    'ANSWER_INVALID',
    `${name} was answered ${status} without an ETag from Freshet: ${glimpse(headers, shown)}. ` +
      'Check the address, and that a proxy on the way keeps ETag and lists it in Access-Control-Expose-Headers.',
  )
}
