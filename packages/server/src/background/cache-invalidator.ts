/** Purges every change from one cache: carries out what its queue decides, with the store, the network and the clock. */
import { randomUUID } from 'node:crypto'
import { type PurgeBatch, type PurgeCursor, PurgeQueue, type PurgeStep } from '@freshet/core/coherence/invalidation'
import type { Store } from '@freshet/core/store'
import { FreshetError, type Position, parsePosition } from '@freshet/protocol'
import { lastRulesChange } from '../access/access-record.js'
import { type CacheConfig, secretsOf } from '../invalidation/cache-config.js'
import { type CacheKind, PurgeFailure } from '../invalidation/cache-kind.js'
import type { Log } from '../monitoring/log.js'
import { Counter } from '../monitoring/metrics.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { BackgroundLoop, RunningJob } from './background-loop.js'

export interface CacheInvalidatorOptions {
  readonly config: CacheConfig
  readonly kind: CacheKind
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly loop: BackgroundLoop
}

type ReadStep = PurgeStep & { readonly kind: 'read' }

/** How far a cache has been purged, as stored. Earlier versions wrote only `twice`, as a number. */
interface RememberedCursor extends PurgeCursor {
  readonly timeMs?: number
}

const TARGETS_MAX = 10_000
const ENTRIES_PER_READ = 1000
const CURSOR_INTERVAL_MS = 5000
const BACK_OFF = { firstMs: 200, mostMs: 60_000 } as const
/** Time for a response to reach the cache; the server cuts responses that take longer. */
const TRANSIT_MS = 1000
/** The delay after a failure of the store itself. */
const STORE_RETRY_MS = 1000

export class CacheInvalidator {
  readonly #options: CacheInvalidatorOptions
  #queue: PurgeQueue | undefined
  #job: RunningJob | undefined
  #isStopping = false
  /** The last known position of the store. */
  #head: Position = 0
  /** The commit time of the newest change that was read, by the store's clock. */
  #readMs = 0
  readonly purges: Counter = new Counter()
  readonly repeats: Counter = new Counter()
  readonly failures: Counter = new Counter()
  readonly wide: Counter = new Counter()

  constructor(options: CacheInvalidatorOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.config.name
  }

  get isDown(): boolean {
    return this.#queue?.isDown ?? false
  }

  get queueLength(): number {
    return this.#queue?.size ?? 0
  }

  get lag(): { readonly positions: number; readonly ms: number } {
    const { positions = 0, sinceMs } = this.#queue?.lag(this.#head) ?? {}
    return { positions, ms: sinceMs === undefined ? 0 : Math.max(0, this.#options.store.nowMs() - sinceMs) }
  }

  async start(): Promise<void> {
    const { store, config, kind, settings } = this.#options
    const remembered = await store.recall(this.#cursorName)
    // A new cache may have copies as old as the log.
    const { timeMs, ...cursor } =
      (remembered && parseCursor(new TextDecoder().decode(remembered))) ?? atBoth(await store.trimmedTo())
    this.#queue = new PurgeQueue({
      cursor,
      cursorAgeMs: timeMs === undefined ? 0 : Math.max(0, store.nowMs() - timeMs),
      nowMs: performance.now(),
      repeatAfterMs: Math.max(settings.responseMsMax + TRANSIT_MS, config.repeatAfterMs ?? 0),
      targetsMax: TARGETS_MAX,
      batchMax: kind.batchMax,
      intervalMs: config.intervalMs ?? kind.intervalMs,
      cursorIntervalMs: CURSOR_INTERVAL_MS,
      canPurgeEverything: kind.canPurgeEverything,
      backOff: BACK_OFF,
      referencePrefix: `freshet-${randomUUID()}`,
    })
    const queue = this.#queue
    this.#job = this.#options.loop.add({
      ...{ name: `invalidation of ${this.name}`, failure: 'invalidation failed', retryMs: STORE_RETRY_MS },
      run: () => this.#run(queue),
    })
    this.#job.wake()
  }

  /** Call when the log has grown. */
  wake(): void {
    this.#job?.wake()
  }

  /** Aborts what is under way; it is done again after the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#options.kind.close()
    await this.#job?.stop()
    if (this.#queue) await this.#remember(this.#queue.cursor)
  }

  get #cursorName(): string {
    return `invalidation/${this.name}`
  }

  async #run(queue: PurgeQueue): Promise<number | undefined> {
    this.#head = await this.#options.store.position()
    const step = queue.next(performance.now(), this.#head)
    if (step.kind === 'wait') return waitMs(step.untilMs)
    await this.#do(queue, step)
    return 0
  }

  async #do(queue: PurgeQueue, step: Exclude<PurgeStep, { kind: 'wait' }>): Promise<void> {
    if (step.kind === 'read') await this.#read(queue, step)
    else if (step.kind === 'send') await this.#send(queue, step.batch)
    else {
      await this.#remember(step.cursor)
      queue.remembered(step.cursor, performance.now())
    }
  }

  async #read(queue: PurgeQueue, step: ReadStep): Promise<void> {
    const { store } = this.#options
    try {
      const entries = await store.changes(step.after, ENTRIES_PER_READ)
      this.#readMs = Math.max(this.#readMs, entries.at(-1)?.timeMs ?? 0)
      const hasOtherRules = lastRulesChange(entries) !== -1
      const isWide = queue.took(step, entries, performance.now(), hasOtherRules)
      const why = hasOtherRules ? 'the rules have changed' : 'there are too many changes to purge one by one'
      if (isWide) this.#say('info', `${why}: the whole cache is purged`)
      else if (hasOtherRules) this.#say('info', 'the rules have changed, and this cache cannot be purged as a whole')
    } catch (error) {
      if (!(error instanceof FreshetError) || error.code !== 'LOG_TRIMMED') throw error
      const trimmedTo = await store.trimmedTo()
      const isWide = queue.trimmed(step, trimmedTo, store.nowMs(), performance.now())
      const outcome = isWide ? 'the whole cache is purged' : 'the copies that were not purged have expired'
      this.#say('info', `purges of this cache were interrupted for longer than copies live: ${outcome}`, { trimmedTo })
    }
  }

  async #send(queue: PurgeQueue, batch: PurgeBatch): Promise<void> {
    try {
      await this.#options.kind.purge(batch)
    } catch (error) {
      this.#fail(queue, error)
      return
    }
    this.purges.value += batch.targets.length
    this.repeats.value += batch.repeats
    if (batch.targets[0] === '*') this.wide.value++
    if (queue.sent() === 'up') this.#say('info', 'cache is up again')
  }

  #fail(queue: PurgeQueue, error: unknown): void {
    if (this.#isStopping) return
    this.failures.value++
    const { retryAfterMs, status } = error instanceof PurgeFailure ? error : { retryAfterMs: 0, status: undefined }
    const change = queue.failed(performance.now(), Math.random(), retryAfterMs)
    if (change === 'down') {
      this.#say('error', 'cache is down', { status, error: this.#withoutSecrets(messageOf(error)) })
    }
  }

  /**
   * Stores the cursor with a time, by the store's clock, by which everything up to it was committed. After a pause, that clock
   * may be behind the log.
   */
  async #remember(cursor: PurgeCursor): Promise<void> {
    const { store } = this.#options
    const timeMs = Math.ceil(Math.max(store.nowMs(), this.#readMs))
    const remembered: RememberedCursor = { ...cursor, timeMs }
    await store.remember(this.#cursorName, new TextEncoder().encode(JSON.stringify(remembered)))
  }

  #say(level: 'info' | 'error', message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { name, kind } = this.#options.config
    this.#options.log.write(level, message, { cache: name, kind, ...fields })
  }

  #withoutSecrets(text: string): string {
    return secretsOf(this.#options.config).reduce((shown, secret) => shown.replaceAll(secret, '(secret)'), text)
  }
}

/** Undefined: wait until the log grows. */
function waitMs(untilMs: number | undefined): number | undefined {
  return untilMs === undefined ? undefined : Math.max(1, untilMs - performance.now())
}

function atBoth(position: Position): RememberedCursor {
  return { once: position, twice: position }
}

function parseCursor(text: string): RememberedCursor | undefined {
  const position = parsePosition(text)
  if (position !== undefined) return atBoth(position)
  return text.startsWith('{') ? (JSON.parse(text) as RememberedCursor) : undefined
}

/** When Node fails to connect to an address with several IPs, the reasons are inside the error. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
