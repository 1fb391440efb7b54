/** Queries as the web does, with whatever the nearest cache has. Judged by the same staleness, to see what caches do alone. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fetch } from '@freshet/client'
import { formatQuery, type QueryAnswer, type Sort } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import { ASKED_QUERIES, type AskedQuery, BUCKET, digestOf, type Product } from './asked-queries.js'
import { type ResultChecker, SessionRecord } from './result-checker.js'

export interface PlainQueriesOptions {
  readonly url: string
  readonly fetch: Fetch
  readonly stalenessMs: number
  readonly pauseMs: number
  readonly checker: ResultChecker
  readonly random: Random
}

const ASK_MS_MAX = 10_000

export async function queryPlainly(options: PlainQueriesOptions, isOver: () => boolean): Promise<void> {
  const { stalenessMs, pauseMs, checker, random } = options
  while (!isOver()) {
    await delay(random.float() * 2 * pauseMs)
    const query = random.below(ASKED_QUERIES.length)
    // Each query is judged separately: there is no session that could go back.
    const read = checker.begin(query, new SessionRecord(), 'a plain query', stalenessMs, performance.now())
    const answer = await ask(options, ASKED_QUERIES[query]!)
    if (answer === undefined) continue
    const { items, version } = answer
    const digest = digestOf(items.map(({ id, version, value }) => ({ id, version, number: value!.number })))
    checker.end(read, digest, version ?? 0, undefined, performance.now())
  }
}

/** Undefined if there was no answer, as after a cache was killed. */
async function ask({ url, fetch }: PlainQueriesOptions, query: AskedQuery): Promise<QueryAnswer<Product> | undefined> {
  try {
    const signal = AbortSignal.timeout(ASK_MS_MAX)
    const response = await fetch(`${url}/db/${BUCKET}?${spell(query)}`, { method: 'GET', signal })
    const text = await response.text()
    return response.status === 200 ? (JSON.parse(text) as QueryAnswer<Product>) : undefined
  } catch {
    return undefined
  }
}

function spell({ options: { where, sort, limit } }: AskedQuery): string {
  const sorts: Sort[] = typeof sort !== 'string' ? [] : [sortOf(sort)]
  return formatQuery({
    ...(where === undefined ? {} : { where }),
    sort: sorts,
    ...(limit === undefined ? {} : { limit }),
  })
}

function sortOf(text: string): Sort {
  return text.startsWith('-') ? { field: text.slice(1), descending: true } : { field: text }
}
