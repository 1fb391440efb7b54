/**
 * Where each request of the page was answered. An observer sees every request; the browser's own list of requests would
 * be full after 250.
 */
import type { Source } from '@freshet/cli/dist/page/browser/tally.js'
import { whereFrom } from '@freshet/cli/dist/page/browser/where-from.js'
import type { Fetch } from '@freshet/client'

interface OpenRequest {
  readonly startedMs: number
  readonly resolve: (transferSize: number) => void
}

export class RequestSources {
  /** Requests for data so far, by where they were answered. */
  readonly counts: Record<Source, number> = { browser: 0, shared: 0, server: 0 }
  /** By URL, requests that the browser has not reported yet, the earliest first. */
  readonly #open = new Map<string, OpenRequest[]>()
  readonly #last = new Map<string, Promise<Source>>()

  constructor() {
    new PerformanceObserver(list => {
      for (const entry of list.getEntriesByType('resource')) this.#take(entry as PerformanceResourceTiming)
      performance.clearResourceTimings()
    }).observe({ type: 'resource' })
  }

  /** Works like the platform's `fetch`, for a client or for a plain reader. */
  readonly fetch: Fetch = async (url, init) => {
    const { pathname, href } = new URL(url, location.href)
    if (init.method !== 'GET' || !pathname.startsWith('/db/')) return fetch(url, init)
    const transferSize = this.#expect(href)
    const response = await fetch(url, init)
    const source = transferSize.then(size =>
      whereFrom({ transferSize: size, header: name => response.headers.get(name) }),
    )
    this.#last.set(nameOf(href), source)
    source.then(from => this.counts[from]++)
    return response
  }

  /** Where the last answer for this URL, path and query, came from. */
  of(url: string): Promise<Source> {
    const source = this.#last.get(nameOf(url))
    if (source === undefined) throw new Error(`The browser reported an answer for ${url}, which no reader requested.`)
    return source
  }

  #expect(href: string): Promise<number> {
    return new Promise(resolve => {
      const open = this.#open.get(href) ?? []
      open.push({ startedMs: performance.now(), resolve })
      this.#open.set(href, open)
    })
  }

  #take({ name, startTime, transferSize }: PerformanceResourceTiming): void {
    const open = this.#open.get(name) ?? []
    // The last request that began before this. Clocks of web pages are coarse.
    const index = open.findLastIndex(({ startedMs }) => startedMs <= startTime + 1)
    const [found] = open.splice(Math.max(0, index), 1)
    found?.resolve(transferSize)
    if (open.length === 0) this.#open.delete(name)
  }
}

/** The same name for any order of the query parameters. */
function nameOf(url: string): string {
  const { pathname, searchParams } = new URL(url, location.href)
  searchParams.sort()
  return `${pathname}?${searchParams}`
}
