/**
 * One policy of lifetimes over the workload: a server with the real sketch, one shared cache in front of it, and readers.
 * Half of the readers hold sessions and request the URLs that the real `Session` chooses. The others know nothing of sketches
 * and request plain URLs. A session lasts ten minutes; the next session fetches the whole sketch.
 *
 * Every read is one of:
 * - a hit: the cache answers with a current copy;
 * - stale: the cache answers with an outdated copy. That may happen to plain readers only;
 * - in vain (a wasted request): the cache asks the server, which answers with what the cache already has, under this URL or
 *   another. This is the cost of a lifetime that ends too early (a revalidation, 304), and of a key that stays in the sketch
 *   for long (a fetch under the next `?at=`);
 * - needed: the cache asks the server for what it does not have.
 */
import type { Bloom } from '@freshet/bloom'
import { createSketch, decodeFilter, LearntLifetimes, Lifetimes, Session, type Sketch } from '@freshet/core/coherence'
import type { Position } from '@freshet/protocol'
import type { LoadEvent, Workload } from './workload.js'

export type Policy =
  | { readonly kind: 'fixed'; readonly lifetimeMs: number }
  | {
      readonly kind: 'learnt'
      readonly minMs: number
      readonly maxMs: number
      readonly share?: number
      readonly shareOfAge?: number
    }

/** Counts over all reads after the start of counting. */
export interface PolicyOutcome extends Readonly<Record<Counted, number>> {
  readonly windowMs: number
  /** Changes in the sketch, and bytes of filters that a new session fetches; both are averages. */
  readonly sketchChanges: number
  readonly sketchBytes: number
  /** Keys with a live plain copy from before their last write: the sketch would have to hold only these. */
  readonly keysAtRisk: number
}

const SEED = 0x5eedn
const LOG = 'simulated'
const EXTRA = { responseMsMax: 30_000, slackMs: 15_000 }
/** Eight of the server's own, for speed: from the second level on, segments are the same. */
const SLOT_MS = 8000
const SESSIONS = 4
const SESSION_MS = 600_000
const STALENESS_MS = 10_000
/** More than the number of positions. */
const POSITIONS_MAX = 2 ** 24

type Counted = 'reads' | 'sessionReads' | 'hits' | 'sessionHits' | 'stale' | 'staleForSessions' | 'inVain' | 'needed'

interface Copy {
  readonly version: Position
  readonly position: Position
  readonly deadMs: number
}

interface OpenSession {
  readonly session: Session
  readonly endMs: number
}

/** Pass `windowMs` to see a window of the wrong length fail; by default it follows from the policy. */
export function runPolicy(workload: Workload, policy: Policy, windowMs: number = windowMsOf(policy)): PolicyOutcome {
  const run = new PolicyRun(workload, policy, windowMs)
  for (const [i, event] of workload.events.entries()) run.take(event, i)
  return run.outcome()
}

class PolicyRun {
  readonly #workload: Workload
  readonly #policy: Policy
  readonly #learnt: LearntLifetimes
  readonly #sketch: Sketch
  readonly #windowMs: number
  #position: Position = 0
  /** By key: the last write; the version the cache saw last; the expiry of plain copies; that expiry at the last write. */
  readonly #versions: Float64Array
  readonly #cachedVersions: Float64Array
  readonly #plainUntilMs: Float64Array
  readonly #atRiskUntilMs: Float64Array
  /** By key and `at`. */
  readonly #copies = new Map<number, Copy>()
  readonly #sessions: (OpenSession | undefined)[] = Array.from({ length: SESSIONS }, () => undefined)
  readonly #decoded = new WeakMap<Uint8Array, Bloom>()
  readonly #counts: Record<Counted, number> = {
    reads: 0,
    sessionReads: 0,
    hits: 0,
    sessionHits: 0,
    stale: 0,
    staleForSessions: 0,
    inVain: 0,
    needed: 0,
  }
  readonly #sampled = { samples: 0, changes: 0, bytes: 0, keysAtRisk: 0 }

  constructor(workload: Workload, policy: Policy, windowMs: number) {
    this.#workload = workload
    this.#policy = policy
    this.#windowMs = windowMs
    this.#sketch = createSketch({ seed: SEED, from: 0, windowMs: this.#windowMs, slotMs: SLOT_MS })
    this.#learnt = new LearntLifetimes({ seed: SEED, ...sharesOf(policy) })
    // Everything was written before the two days began; the server does not know how long before.
    this.#learnt.begin(0, 0)
    const { length } = workload.keys
    this.#versions = new Float64Array(length)
    this.#cachedVersions = new Float64Array(length).fill(-1)
    this.#plainUntilMs = new Float64Array(length)
    this.#atRiskUntilMs = new Float64Array(length)
  }

  take(event: LoadEvent, index: number): void {
    if (event.kind === 'write') this.#write(event)
    else if (event.kind === 'plain read') this.#readPlain(event)
    else this.#readInSession(event, index % SESSIONS)
  }

  outcome(): PolicyOutcome {
    const { samples, changes, bytes, keysAtRisk } = this.#sampled
    const sketch = { sketchChanges: changes / samples, sketchBytes: bytes / samples, keysAtRisk: keysAtRisk / samples }
    return { ...this.#counts, windowMs: this.#windowMs, ...sketch }
  }

  #write({ key, timeMs }: LoadEvent): void {
    const entry = { position: ++this.#position, timeMs, keys: [this.#workload.keys[key]!], tags: [] }
    this.#sketch.append([entry])
    this.#learnt.follow(entry, () => true)
    this.#versions[key] = this.#position
    this.#atRiskUntilMs[key] = this.#plainUntilMs[key]!
  }

  #readPlain({ key, timeMs }: LoadEvent): void {
    const copy = this.#copyOf(key, 0, timeMs)
    if (copy) this.#count(timeMs, copy.version === this.#versions[key] ? 'hits' : 'stale')
    else this.#fetch(key, 0, timeMs)
    this.#count(timeMs, 'reads')
  }

  #readInSession({ key, timeMs }: LoadEvent, number: number): void {
    const session = this.#sessionAt(number, timeMs)
    const path = this.#workload.paths[key]!
    const read = { paths: [path] }
    const at = session.at(read, 'session')
    const cached = this.#copyOf(key, at ?? 0, timeMs)
    const copy = cached ?? this.#fetch(key, at ?? 0, timeMs)
    if (!session.accepts(read, at, 'session', copy)) throw new Error(`The session refused the cache's copy of ${path}.`)
    session.saw(path, copy.version)
    const changedAt = this.#versions[key]!
    if (copy.version < changedAt && changedAt <= session.position) this.#count(timeMs, 'staleForSessions')
    if (cached) this.#count(timeMs, 'hits')
    if (cached) this.#count(timeMs, 'sessionHits')
    this.#count(timeMs, 'reads')
    this.#count(timeMs, 'sessionReads')
  }

  #copyOf(key: number, at: Position, nowMs: number): Copy | undefined {
    const copy = this.#copies.get(key * POSITIONS_MAX + at)
    return copy && nowMs < copy.deadMs ? copy : undefined
  }

  /** Fetches from the server into the cache. */
  #fetch(key: number, at: Position, nowMs: number): Copy {
    const version = this.#versions[key]!
    this.#count(nowMs, this.#cachedVersions[key] === version ? 'inVain' : 'needed')
    this.#cachedVersions[key] = version
    // As headers have it.
    const lifetimeMs = Math.floor(this.#lifetimeMs(key, at, nowMs) / 1000) * 1000
    const copy = { version, position: this.#position, deadMs: nowMs + lifetimeMs }
    this.#copies.set(key * POSITIONS_MAX + at, copy)
    if (at === 0) this.#plainUntilMs[key] = Math.max(this.#plainUntilMs[key]!, copy.deadMs)
    return copy
  }

  #lifetimeMs(key: number, at: Position, nowMs: number): number {
    if (this.#policy.kind === 'fixed') return this.#policy.lifetimeMs
    if (at !== 0) return this.#policy.maxMs
    return this.#learnt.lifetimeMs(this.#workload.keys[key]!, this.#versions[key]!, nowMs, this.#policy)
  }

  #sessionAt(number: number, nowMs: number): Session {
    const known = this.#sessions[number]
    const isNew = known === undefined || nowMs >= known.endMs
    const session = isNew ? new Session({ stalenessMs: STALENESS_MS }) : known.session
    if (isNew) this.#sessions[number] = { session, endMs: nowMs + SESSION_MS }
    if (session.needsRefresh('session', nowMs)) {
      const bytes = this.#refresh(session, nowMs)
      if (isNew) this.#sample(bytes, nowMs)
    }
    return session
  }

  /** Returns the bytes of the filters that the session fetched. */
  #refresh(session: Session, nowMs: number): number {
    this.#sketch.advance(nowMs, this.#windowMs)
    const { after } = session.headRequest
    const head = { ...this.#sketch.head(after), log: LOG, timeMs: nowMs }
    const plan = session.planHead(head, after)
    if (plan.kind === 'restart') throw new Error('The head does not connect to what the session knows.')
    const encoded = plan.kind === 'install' ? plan.missing.map(ref => this.#sketch.segment(ref)!) : []
    session.installHead(
      head,
      after,
      encoded.map(bytes => this.#decode(bytes)),
      nowMs,
    )
    return encoded.reduce((sum, { length }) => sum + length, 0)
  }

  #decode(bytes: Uint8Array): Bloom {
    const known = this.#decoded.get(bytes)
    if (known) return known
    const filter = decodeFilter(bytes, SEED)
    this.#decoded.set(bytes, filter)
    return filter
  }

  #sample(bytes: number, nowMs: number): void {
    if (nowMs < this.#workload.countedFromMs) return
    this.#sampled.samples++
    this.#sampled.bytes += bytes
    this.#sampled.changes += this.#sketch.size().changes
    this.#sampled.keysAtRisk += this.#atRiskUntilMs.filter(untilMs => untilMs > nowMs).length
  }

  #count(nowMs: number, what: Counted): void {
    if (nowMs >= this.#workload.countedFromMs) this.#counts[what]++
  }
}

function windowMsOf(policy: Policy): number {
  const lifetimes = new Lifetimes({ nowMs: 0, ...EXTRA })
  lifetimes.use(policy.kind === 'fixed' ? policy.lifetimeMs : policy.maxMs, 0)
  return lifetimes.windowMs(0)
}

function sharesOf(policy: Policy): { share?: number; shareOfAge?: number } {
  if (policy.kind === 'fixed') return {}
  const { share, shareOfAge } = policy
  return { ...(share !== undefined && { share }), ...(shareOfAge !== undefined && { shareOfAge }) }
}
