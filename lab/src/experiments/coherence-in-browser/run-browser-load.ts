/**
 * Two browsers, one of them with two tabs, read through their own caches and the caches behind them. Meanwhile others write
 * past the caches, the tabs write through them, answers come late, and copies are purged at random. Every read is checked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, BrowserContext, JSHandle, Page } from 'playwright-core'
import { OFTEN_LATE, SHORT_WINDOW, type SlowOrigin, startSlowOrigin } from '../../caches/slow-origin.js'
import { CarelessPurger } from '../../coherence-load/careless-purger.js'
import { DirectWriters } from '../../coherence-load/direct-writers.js'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import type { CheckedReads } from '../../coherence-load/stale-reads.js'
import type { Random } from '../../harness/random.js'
import { sumOf } from '../../harness/sum-of.js'
import type { BrowserTopology, RunningWay } from './browser-topologies.js'
import { bundlePage } from './bundle-page.js'
import { compareClocks } from './page-clock.js'
import { PageJudge } from './page-judge.js'
import { LOAD_PAGE, type LoadPage, type PageCounts, type PageSettings, type SourceCounts } from './page-protocol.js'

export interface BrowserLoadOptions {
  /** For this run alone. */
  readonly browser: Browser
  readonly topology: BrowserTopology
  readonly random: Random
  /** The run goes on until this many session reads have been checked. */
  readonly reads: number
  readonly lifetimeMs: number
  readonly onProgress?: (reads: number) => void
  /** Called at the end of the run, with a tab that is still open. */
  readonly onEnd?: (page: Page) => Promise<void>
}

export interface BrowserLoadResult extends CheckedReads {
  readonly hasSharedCaches: boolean
  /** The reads of sessions. */
  readonly servedFrom: SourceCounts
  readonly naiveServedFrom: SourceCounts
  /** Requests for data that the server answered, by the browser's count and by the server's. */
  readonly serverRequests: number
  readonly serverRequestsCounted: number
  readonly writes: number
  readonly purges: number
  /** The messages of reads that got no answer. */
  readonly failures: readonly string[]
  readonly seconds: number
}

interface Tab {
  readonly page: Page
  readonly load: JSHandle<LoadPage>
  readonly judge: PageJudge
}

/** How the sessions of each tab of each browser learn of changes. A stream takes one of a browser's six connections. */
const BROWSERS: readonly (readonly PageSettings['refreshes'][])[] = [
  [['push', 'on-demand'], ['poll']],
  [['push', 'on-demand']],
]
const VIEWPORT = { width: 960, height: 570 }
const WRITERS = { count: 2, pauseMs: 60 }
const PURGE_PAUSE_MS = 20
const ROUND_MS = 100
/** A run is stuck if a read takes longer than this. */
const READ_MS_MAX = 120

export async function runBrowserLoad(options: BrowserLoadOptions): Promise<BrowserLoadResult> {
  const { topology, lifetimeMs, browser } = options
  const bundled = await bundlePage()
  const settings = { ...SHORT_WINDOW, lifetimeMs }
  const origin = await startSlowOrigin({ settings, ...OFTEN_LATE, pageFolder: bundled.folder })
  let way: RunningWay | undefined
  try {
    way = await topology.start(origin.url)
    return await new BrowserLoad(options, origin, way).run()
  } finally {
    await Promise.all(browser.contexts().map(context => context.close()))
    await Promise.all(way?.caches.map(cache => cache.stop()) ?? [])
    await origin.stop()
    bundled.remove()
  }
}

class BrowserLoad {
  readonly #options: BrowserLoadOptions
  readonly #origin: SlowOrigin
  readonly #way: RunningWay
  readonly #history = new RecordedHistory()
  readonly #writers: DirectWriters
  readonly #purger: CarelessPurger
  #isOver = false

  constructor(options: BrowserLoadOptions, origin: SlowOrigin, way: RunningWay) {
    this.#options = options
    this.#origin = origin
    this.#way = way
    const { random } = options
    this.#writers = new DirectWriters({ urls: [origin.url], history: this.#history, random, ...WRITERS })
    this.#purger = new CarelessPurger(way.caches, random.fork('purges'))
  }

  async run(): Promise<BrowserLoadResult> {
    const beganMs = performance.now()
    await this.#writers.fill()
    const readsBefore = this.#origin.dataReads
    const tabs = await this.#openAll()
    const isOver = () => this.#isOver
    const others = Promise.all([
      ...this.#writers.run(isOver),
      ...(this.#way.caches.length === 0 ? [] : [this.#purger.run(PURGE_PAUSE_MS, isOver)]),
    ])
    try {
      await this.#follow(tabs)
    } finally {
      this.#isOver = true
      await others
    }
    await this.#options.onEnd?.(tabs[0]!.page)
    const counts = await Promise.all(tabs.map(({ load }) => load.evaluate(page => page.counts())))
    // The page reports every few milliseconds.
    await delay(ROUND_MS)
    return this.#result(tabs, counts, this.#origin.dataReads - readsBefore, performance.now() - beganMs)
  }

  async #openAll(): Promise<readonly Tab[]> {
    const { proxy } = this.#way
    const tabs: Tab[] = []
    for (const tabsOfBrowser of BROWSERS) {
      const context = await this.#options.browser.newContext({
        viewport: VIEWPORT,
        // By default, Chromium bypasses the proxy for addresses of this machine.
        ...(proxy === undefined ? {} : { proxy: { server: proxy, bypass: '<-loopback>' } }),
      })
      for (const refreshes of tabsOfBrowser) tabs.push(await this.#open(context, tabs.length, refreshes))
    }
    return tabs
  }

  async #open(context: BrowserContext, i: number, refreshes: PageSettings['refreshes']): Promise<Tab> {
    const { topology, random } = this.#options
    const page = await context.newPage()
    await page.goto(this.#way.url)
    await page.waitForFunction(name => name in globalThis, LOAD_PAGE)
    const load = await page.evaluateHandle(
      name => (globalThis as unknown as Record<string, LoadPage>)[name]!,
      LOAD_PAGE,
    )
    const clock = await compareClocks(() => load.evaluate(own => own.now()))
    const settings: PageSettings = {
      seed: random.fork(`tab ${i}`).uint32(),
      refreshes,
      way: topology.way,
      firstNumber: (i + 1) * 1_000_000,
    }
    const kinds = await load.evaluate((own, given) => own.start(given), settings)
    const onUrl = (url: string) => this.#purger.note(url)
    const judge = new PageJudge({ history: this.#history, clock, kinds, onUrl })
    return { page, load, judge }
  }

  /** Runs until enough has been read, and then until nothing is under way. */
  async #follow(tabs: readonly Tab[]): Promise<void> {
    const { reads, onProgress } = this.#options
    const deadlineMs = performance.now() + reads * READ_MS_MAX
    const checked = () => sumOf(tabs, ({ judge }) => judge.checkers.session.reads)
    while (checked() < reads && performance.now() < deadlineMs) {
      await this.#judge(tabs)
      onProgress?.(checked())
      await delay(ROUND_MS)
    }
    await Promise.all(tabs.map(({ load }) => load.evaluate(page => page.stop())))
    await this.#judge(tabs)
  }

  async #judge(tabs: readonly Tab[]): Promise<void> {
    const untilMs = performance.now()
    await Promise.all(tabs.map(async ({ load, judge }) => judge.add(await load.evaluate(page => page.take()))))
    await Promise.all(
      tabs.map(({ load, judge }) => {
        judge.judge(untilMs)
        return load.evaluate((page, verdicts) => page.showVerdicts(verdicts), judge.verdicts)
      }),
    )
  }

  #result(
    tabs: readonly Tab[],
    counts: readonly PageCounts[],
    serverRequestsCounted: number,
    durationMs: number,
  ): BrowserLoadResult {
    const sessions = tabs.map(({ judge }) => judge.checkers.session)
    const plain = tabs.map(({ judge }) => judge.checkers.plain)
    return {
      topology: this.#options.topology.name,
      hasSharedCaches: this.#way.caches.length > 0,
      lifetimeMs: this.#options.lifetimeMs,
      checkedReads: sumOf(sessions, ({ reads }) => reads),
      violations: sumOf(sessions, ({ violationCount }) => violationCount),
      traces: sessions.flatMap(({ traces }) => traces),
      naiveReads: sumOf(plain, ({ reads }) => reads),
      naiveViolations: sumOf(plain, ({ violationCount }) => violationCount),
      servedFrom: sumOfSources(counts.map(({ reads }) => reads.session)),
      naiveServedFrom: sumOfSources(counts.map(({ reads }) => reads.plain)),
      serverRequests: sumOfSources(counts.map(({ requests }) => requests)).server,
      serverRequestsCounted,
      writes: this.#history.writes,
      purges: this.#purger.purges,
      failures: tabs.flatMap(({ judge }) => judge.failures),
      seconds: durationMs / 1000,
    }
  }
}

function sumOfSources(all: readonly SourceCounts[]): SourceCounts {
  return {
    browser: sumOf(all, ({ browser }) => browser),
    shared: sumOf(all, ({ shared }) => shared),
    server: sumOf(all, ({ server }) => server),
  }
}
