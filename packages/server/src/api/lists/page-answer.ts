/** The answer for a page of a bucket or of a query's result: with its version and lifetime, and compressed if it is long. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Store } from '@freshet/core/store'
import { formatEtag, type Key, type Position, type Version } from '@freshet/protocol'
import { PRIVATE } from '../../access/caller.js'
import type { CursorSeals } from '../../access/cursor-seals.js'
import type { BucketDirectory } from '../../buckets/bucket-directory.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import type { PositionWaits } from '../../coherence/position-waits.js'
import { type Answer, JSON_TYPE, NO_SNIFF } from '../../http/answer.js'
import { hasVersion } from '../../http/conditions.js'
import { chooseCoding, compress } from '../../http/content-coding.js'
import { tagsOf } from '../../invalidation/tags.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import type { PlacedAnswer } from './answer-judged.js'
import type { VisibleRows } from './visible-rows.js'

/** What pages are read from. */
export interface PageReaderOptions {
  readonly rows: VisibleRows
  readonly seals: CursorSeals
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly waits: PositionWaits
  readonly buckets: BucketDirectory
  readonly tagHeaders: readonly string[]
}

export interface PageFacts {
  readonly cacheControl: string
  /** Undefined if the page has no version. */
  readonly version?: Version | undefined
  readonly position: Position
}

/** A 304, if the reader has this version of the page. */
export function unchangedPage(facts: PageFacts, ifNoneMatch: string | undefined): PlacedAnswer | undefined {
  const { version, position, cacheControl } = facts
  if (version === undefined || ifNoneMatch === undefined || !hasVersion(ifNoneMatch, version)) return undefined
  return { answer: { status: 304, headers: headersOf(facts), isCacheable: cacheControl !== PRIVATE }, position }
}

/** A 200 with the page of the bucket, and the bucket's tags for caches. */
export async function placedPage(
  { settings, tagHeaders }: PageReaderOptions,
  key: Key,
  facts: PageFacts,
  body: Buffer,
  headers: IncomingHttpHeaders,
): Promise<PlacedAnswer> {
  const encodings = headers['accept-encoding'] as string | undefined
  const answer = await pageAnswer(facts, body, encodings, settings.compressBytesMin)
  const tagged = { ...answer, headers: [...answer.headers, ...tagsOf(tagHeaders, key)] }
  return { answer: tagged, position: facts.position }
}

async function pageAnswer(
  facts: PageFacts,
  body: Buffer,
  encodings: string | undefined,
  compressBytesMin: number,
): Promise<Answer> {
  const type = ['Content-Type', JSON_TYPE, ...NO_SNIFF]
  const isCacheable = facts.cacheControl !== PRIVATE
  const plain = { status: 200, headers: [...type, ...headersOf(facts)], body, isCacheable }
  if (body.length < compressBytesMin) return plain
  const coding = chooseCoding(encodings)
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
