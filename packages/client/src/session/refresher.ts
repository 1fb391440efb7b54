/**
 * Keeps the session's sketch as fresh as reads need it, with as few requests as the argument allows.
 *
 * A head reflects everything acknowledged before it was requested. So a read may wait for a head that another read requested
 * only if that request was made no earlier before the read began than the read's mode allows: for a `current` read, not before
 * it at all. Two requests may be under way at once. A read that begins then waits for one of them to end, and shares the next
 * with all other waiting reads: a thousand concurrent `current` reads cost a few heads.
 */
import type { Bloom } from '@freshet/bloom'
import type { ServerClock } from '@freshet/core/clock'
import {
  decodeSegmentBundle,
  formatSegmentRefs,
  parseSeed,
  type ReaderHead,
  type ReadMode,
  SEGMENTS_PER_BUNDLE_MAX,
  type Session,
} from '@freshet/core/coherence'
import { FreshetError, type OpenBuckets, type Position, type SegmentRef } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { isPassing, type RetryPolicy, retry } from '../http/back-off.js'
import { Deadline, ofReading, pause, untilAborted } from '../http/deadline.js'
import type { Transport } from '../http/transport.js'
import { fetchHead } from './coherence-requests.js'

export interface RefresherOptions {
  readonly session: Session
  readonly transport: Transport
  readonly clock: Clock
  readonly serverClock: ServerClock
  readonly policy: RetryPolicy
  readonly timeoutMs: number
  readonly closed: AbortSignal
  /** Called when the server has another store: everything that was read from the old one is obsolete. */
  readonly onAnotherLog: () => void
  /** Called with the open buckets in each complete head; undefined if it names none. */
  readonly onOpenBuckets: (open: OpenBuckets | undefined) => void
}

interface Refresh {
  readonly askedAtMs: number
  readonly promise: Promise<void>
}

const REFRESHES_MAX = 2

export class Refresher {
  readonly #options: RefresherOptions
  readonly #session: Session
  #underWay: readonly Refresh[] = []

  constructor(options: RefresherOptions) {
    this.#options = options
    this.#session = options.session
  }

  /** Resolves when the sketch is fresh enough for a read of this mode that began at `beganAtMs`. */
  async ensure(mode: ReadMode, beganAtMs: number, signal: AbortSignal): Promise<void> {
    const earliestMs = beganAtMs - this.#ageMsMax(mode)
    // Once is nearly always enough. A head that a pushed event has overtaken adds nothing new, and a head may come from a server
    // that is behind: then it is requested again, after a pause.
    for (let asked = 0; this.#session.needsRefresh(mode, beganAtMs); asked++) {
      if (asked > 0) await pause(Math.min(1000, 2 ** asked), signal)
      await untilAborted(this.#askedSince(earliestMs), signal)
    }
  }

  /** Fetches a head that is requested now or later. */
  async refresh(signal: AbortSignal): Promise<void> {
    await untilAborted(this.#askedSince(this.#options.clock()), signal)
  }

  #ageMsMax(mode: ReadMode): number {
    if (mode === 'current') return 0
    return typeof mode === 'object' ? mode.withinMs : this.#session.stalenessMs
  }

  async #askedSince(earliestMs: number): Promise<void> {
    for (;;) {
      const found = this.#underWay.find(({ askedAtMs }) => askedAtMs >= earliestMs)
      if (found) return found.promise
      if (this.#underWay.length < REFRESHES_MAX) return this.#begin().promise
      // Its outcome matters to its waiters, and not here.
      await Promise.race(this.#underWay.map(({ promise }) => promise.catch(() => {})))
    }
  }

  #begin(): Refresh {
    const askedAtMs = this.#options.clock()
    const promise = this.#load().finally(() => {
      this.#underWay = this.#underWay.filter(other => other !== refresh)
    })
    const refresh: Refresh = { askedAtMs, promise }
    this.#underWay = [...this.#underWay, refresh]
    // All its waiters may have given up by the time it fails.
    promise.catch(() => {})
    return refresh
  }

  async #load(): Promise<void> {
    const { timeoutMs, closed, policy } = this.#options
    const deadline = new Deadline({ timeoutMs, what: 'Asking for what has changed', signals: [closed] })
    try {
      await retry(policy, deadline.signal, isWorthRepeating, () => this.#loadOnce(deadline.signal))
    } catch (error) {
      throw ofReading(error)
    } finally {
      deadline.end()
    }
  }

  async #loadOnce(signal: AbortSignal): Promise<void> {
    const { after, at } = this.#session.headRequest
    if (!(await this.#take(after, at, signal))) await this.#take(undefined, at, signal)
  }

  /** False if the head does not connect to what is known. */
  async #take(after: Position | undefined, at: Position, signal: AbortSignal): Promise<boolean> {
    const { transport, clock, serverClock, onAnotherLog } = this.#options
    const session = this.#session
    const { reached } = session
    const askedAtMs = clock()
    const { answer, nonce } = await fetchHead(transport, after, at, signal)
    const answeredAtMs = clock()
    const head = 'news' in answer ? session.readNews(answer.news, nonce) : answer
    if (head === undefined) return false
    if (session.isOutdated(head, reached)) throw outdated(transport.base, head.position, reached)
    const plan = session.planHead(head, after)
    if (plan.kind === 'restart') return false
    const known = plan.kind === 'install' ? await this.#fetchSegments(plan.missing, head, signal) : new Map()
    // Missing segments may have arrived by another way since the head came, so the plan is made again, and this time nothing
    // comes in between.
    const planNow = session.planHead(head, after)
    if (planNow.kind === 'restart') return false
    const filters = planNow.kind === 'install' ? planNow.missing.map(ref => known.get(formatSegmentRefs([ref]))) : []
    if (filters.some(filter => filter === undefined)) return false
    if (session.installHead(head, after, filters as Bloom[], askedAtMs)) {
      serverClock.forget()
      onAnotherLog()
    }
    if (planNow.kind === 'install' && !('news' in answer)) this.#options.onOpenBuckets(answer.open)
    serverClock.sample(askedAtMs, head.timeMs, answeredAtMs)
    return true
  }

  async #fetchSegments(
    missing: readonly SegmentRef[],
    head: ReaderHead,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Bloom>> {
    const known = new Map<string, Bloom>()
    for (let start = 0; start < missing.length; start += SEGMENTS_PER_BUNDLE_MAX) {
      const refs = missing.slice(start, start + SEGMENTS_PER_BUNDLE_MAX)
      const filters = await this.#fetchBundle(refs, head, signal)
      refs.forEach((ref, i) => {
        known.set(formatSegmentRefs([ref]), filters[i]!)
      })
    }
    return known
  }

  async #fetchBundle(refs: readonly SegmentRef[], head: ReaderHead, signal: AbortSignal): Promise<readonly Bloom[]> {
    const target = `/coherence/segments/${formatSegmentRefs(refs)}`
    const seed = parseSeed(head.seed) ?? 0n
    const load = async (cache: 'default' | 'reload') => {
      const reply = await this.#options.transport.bytes({ method: 'GET', target, cache }, signal)
      if (reply.problem) throw reply.problem
      return decodeSegmentBundle(reply.body, refs.length, seed)
    }
    try {
      return await load('default')
    } catch (error) {
      // A cache may have the segment of an earlier store at this address: the same name, another seed.
      if (!(error instanceof FreshetError) || error.code !== 'ANSWER_INVALID') throw error
      return await load('reload')
    }
  }
}

/** A segment that has been merged away since the head was made does no harm: the next head names others. */
function isWorthRepeating(error: unknown): boolean {
  if (isPassing(error)) return true
  return error instanceof FreshetError && ['SEGMENT_GONE', 'CACHE_UNTRUSTWORTHY'].includes(error.code)
}

function outdated(base: string, position: Position, reached: Position): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `${base}/coherence returned position ${position}, after ${reached} had been seen. The server's store has gone ` +
      'back, or servers with different stores are behind this address.',
  )
}
