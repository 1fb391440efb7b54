/** Reads as the web does, with whatever the nearest cache has. Judged by the same staleness, to see what the caches do alone. */
import { setTimeout as delay } from 'node:timers/promises'
import { parseEtag } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import { type Found, type ReadChecker, SessionRecord } from './read-checker.js'
import { BUCKET, type Item, OBJECT_IDS } from './stored-items.js'

export interface PlainReaderOptions {
  readonly url: string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly stalenessMs: number
  readonly checker: ReadChecker
  readonly random: Random
}

/** It reads until copies have become stale, which takes the same time however often it reads. */
const PAUSE_MS = 5

export async function readPlainly(options: PlainReaderOptions, isOver: () => boolean): Promise<void> {
  const { url, fetch, stalenessMs, checker, random } = options
  const record = new SessionRecord()
  while (!isOver()) {
    const id = random.pick(OBJECT_IDS)
    const read = checker.begin(id, record, 'a plain read', stalenessMs, performance.now())
    const answer = await ask(fetch, `${url}/db/${BUCKET}/${id}`)
    if (answer !== undefined) checker.end(read, answer.found, undefined, performance.now())
    await delay(PAUSE_MS)
  }
}

/** Undefined if there was no answer, as after a cache was killed: the client discovers its dead connections one by one. */
async function ask(fetch: PlainReaderOptions['fetch'], url: string): Promise<{ found: Found | undefined } | undefined> {
  try {
    const response = await fetch(url, { method: 'GET' })
    const text = await response.text()
    if (response.status === 404) return { found: undefined }
    const version = parseEtag(response.headers.get('etag') ?? '')
    return version === undefined ? undefined : { found: { version, number: (JSON.parse(text) as Item).number } }
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
