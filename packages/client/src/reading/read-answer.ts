/** What came back for a read, as far as its headers tell. */
import type { Dependencies } from '@freshet/core/coherence'
import { FreshetError, POSITION_HEADER, type Position, parseEtag, parsePosition, type Version } from '@freshet/protocol'
import { type Body, glimpse, type Reply } from '../http/transport.js'
import type { ReadRequest } from './read-request.js'

export interface ReadAnswer {
  /** Undefined if there is no such thing; 0 if it has no version of its own. */
  readonly version: Version | undefined
  /** Of the state it was read from; undefined if a cache removed the header. */
  readonly position: Position | undefined
  /** Empty if there is no such thing. */
  readonly body: Body
  readonly contentType: string
  readonly dependsOn: Dependencies
  /** By the session's clock: until then caches may keep it, and so may we. 0 if nobody may. */
  readonly freshUntilMs: number
  /** How long it has lain in caches, as they say; undefined if they do not. */
  readonly ageS: number | undefined
}

/** 404s that mean that there is no such thing, rather than that something is wrong. */
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
  // What is shown to this caller alone may have no version: it could tell of what is hidden from them.
  const version = problem ? undefined : (parseEtag(headers.get('etag') ?? '') ?? (hasVersion && !isOwn ? undefined : 0))
  if (version === undefined && !problem) throw withoutVersion(name, reply)
  const ageS = wholeNumber(headers.get('age'))
  return {
    version,
    // A refusal also has it in its body.
    position: parsePosition(headers.get(POSITION_HEADER) ?? `${problem?.details.position}`),
    body: problem ? '' : reply.body,
    dependsOn: dependenciesIn?.(problem ? '' : reply.body) ?? dependsOn,
    contentType: headers.get('content-type') ?? '',
    freshUntilMs: askedAtMs + (lifetimeS(headers.get('cache-control') ?? '') - (ageS ?? 0)) * 1000,
    ageS,
  }
}

/** Time counts from when it was asked for, not from when it came: it may have been on the way all the while. */
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
    `${name} was answered ${status} without an ETag of Freshet's: ${glimpse(headers, shown)}. ` +
      'Check the address, and that a proxy on the way keeps ETag and lists it in Access-Control-Expose-Headers.',
  )
}
