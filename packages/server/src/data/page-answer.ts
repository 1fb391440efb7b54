/** A page of a bucket, or of a query's result, as it is answered: with its version, its lifetime, and compressed if it is long. */
import { formatEtag, type Position, type Version } from '@freshet/protocol'
import { PRIVATE } from '../access/caller.js'
import { type Answer, JSON_TYPE, NO_SNIFF } from '../http/answer.js'
import { chooseCoding, compress } from '../http/content-coding.js'

export interface PageFacts {
  readonly cacheControl: string
  /** Undefined where the page has no version of its own. */
  readonly version?: Version | undefined
  readonly position: Position
}

export function unchangedPage(facts: PageFacts): Answer {
  return { status: 304, headers: headersOf(facts), isCacheable: facts.cacheControl !== PRIVATE }
}

export async function pageAnswer(
  facts: PageFacts,
  body: Buffer,
  acceptEncoding: string | undefined,
  compressBytesMin: number,
): Promise<Answer> {
  const type = ['Content-Type', JSON_TYPE, ...NO_SNIFF]
  const isCacheable = facts.cacheControl !== PRIVATE
  const plain = { status: 200, headers: [...type, ...headersOf(facts)], body, isCacheable }
  if (body.length < compressBytesMin) return plain
  const coding = chooseCoding(acceptEncoding)
  if (coding === undefined) return { ...plain, headers: [...plain.headers, 'Vary', 'Accept-Encoding'] }
  const headers = [...type, ...headersOf(facts, coding), 'Vary', 'Accept-Encoding', 'Content-Encoding', coding]
  return { ...plain, headers, body: await compress(body, coding) }
}

function headersOf({ cacheControl, version, position }: PageFacts, coding?: 'br' | 'gzip'): readonly string[] {
  return [
    ...(version === undefined ? [] : ['ETag', formatEtag(version, coding)]),
    ...['Cache-Control', cacheControl, 'Freshet-Position', `${position}`],
  ]
}
