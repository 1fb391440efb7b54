/**
 * A server process. It follows the log into its own sketch, late and at its own times, but catches up before it answers for
 * coherence. It forgets everything in a crash, except for what the store remembers.
 *
 * The process may stall, or the connection over which it learns the store's time. Its estimate of that time then advances by at
 * most a lease; afterwards it catches up.
 */
import { createBloom, encodeBloom } from '@freshet/bloom'
import { createSketch, formatNews, Lifetimes, packChanges, type Sketch, unpackChanges } from '@freshet/core/coherence'
import type { LogEntry } from '@freshet/core/store'
import type { CoherenceHead, PackedChanges, Path, Position, SegmentRef } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import type { EventQueue } from '../simulator/event-queue.js'
import { Standstill } from '../simulator/standstill.js'
import type { Mix } from './mix.js'
import type { PlantedBug } from './planted-bugs.js'
import type { Commit, TrueHistory } from './true-history.js'
import type { Content, Reply, Request } from './wire.js'

export const SEED = 0x5eedn
const LOG = 'simulated'
/** See `store/clock/fleet-clock.ts`. */
const LEASE_MS = 1000
/** Clocks of processes are wrong by this share at most. */
const DRIFT_MAX = 0.0002
const NOTHING = encodeBloom(createBloom({ entriesMax: 1, falsePositiveRateMax: 0.001, seed: SEED }))

export interface ServerWorkerOptions {
  readonly name: string
  readonly queue: EventQueue
  readonly random: Random
  readonly history: TrueHistory
  readonly mix: Mix
  readonly bug: PlantedBug | undefined
}

export class ServerWorker {
  isUp = true
  /** The process answers nothing during a stall, even if it goes down meanwhile. */
  readonly stall: Standstill
  readonly #options: ServerWorkerOptions
  #sketch: Sketch
  #lifetimes: Lifetimes
  #usedMs = -1
  /** How many commits of the log the process has read. */
  #read = 0
  #bootMs = 0
  #rate = 1
  #clockStall = { untilMs: 0, storeMs: 0 }

  constructor(options: ServerWorkerOptions) {
    this.#options = options
    this.stall = new Standstill(options.queue)
    this.#boot()
    this.#lifetimes = this.#createLifetimes()
    this.#sketch = this.#createSketch()
  }

  /** The process's own monotonic clock. */
  processMs(): number {
    return (this.#options.queue.nowMs - this.#bootMs) * this.#rate
  }

  /** The process's estimate of the store's time. */
  storeMs(): number {
    const storeMs = this.#options.history.nowMs()
    return this.#isClockStalled ? Math.min(storeMs, this.#clockStall.storeMs + LEASE_MS) : storeMs
  }

  get #isClockStalled(): boolean {
    return this.#options.queue.nowMs < this.#clockStall.untilMs
  }

  standStill(ms: number): void {
    this.stall.begin(ms)
    this.stallClock(ms)
  }

  /** Stalls the connection over which the process learns the store's time; all other connections work. */
  stallClock(ms: number): void {
    const untilMs = Math.max(this.#clockStall.untilMs, this.#options.queue.nowMs + ms)
    const storeMs = this.#isClockStalled ? this.#clockStall.storeMs : this.#options.history.nowMs()
    this.#clockStall = { untilMs, storeMs }
  }

  #boot(): void {
    const { queue, random } = this.#options
    // As if the machine had been up for a while, another while each time.
    this.#bootMs = queue.nowMs - random.float() * 1e6
    this.#rate = 1 - DRIFT_MAX * random.float()
    this.stall.end()
    this.#clockStall = { untilMs: 0, storeMs: 0 }
  }

  get position(): Position {
    return this.#sketch.position
  }

  get from(): Position {
    return this.#sketch.from
  }

  /** Restarts after a crash. */
  restart(): void {
    const { history, bug } = this.#options
    this.isUp = true
    this.#boot()
    this.#usedMs = -1
    this.#lifetimes = this.#createLifetimes()
    this.#sketch = this.#createSketch()
    this.#read = history.log.findIndex(({ position }) => position > this.#sketch.position)
    if (this.#read === -1 || bug === 'sketch lost in a crash') this.#read = history.log.length
    this.follow()
    this.advance()
  }

  /** Reads the log up to its visible end. */
  follow(): void {
    const { log } = this.#options.history
    if (this.#read < log.length) this.#sketch.append(log.slice(this.#read).map(commit => this.#asLogged(commit)))
    this.#read = log.length
  }

  advance(): void {
    this.#usePromised()
    this.#sketch.advance(this.storeMs(), this.#windowMs())
  }

  answer({ target }: Request): Reply | undefined {
    if (target.kind === 'object') return this.#readObject(target.path, target.at)
    this.follow()
    if (target.kind === 'segments') return this.#readSegments(target.refs)
    if (this.#sketch.position < target.at) return undefined
    return this.#reply({ kind: 'head', text: this.#head(target.after, target.nonce) }, 0, true)
  }

  /** The changes since then, once the process has caught up; undefined if they are not known one by one. */
  changesAfter(after: Position): PackedChanges | undefined {
    this.follow()
    const changes = this.#sketch.changesAfter(after)
    return changes === undefined ? undefined : this.#asListed(after, changes)
  }

  #readObject(path: Path, at: Position | undefined): Reply | undefined {
    const { history, bug, random } = this.#options
    this.#usePromised()
    if (history.position < (at ?? 0)) return undefined
    const lagMs = bug === 'old state under ?at=' && at !== undefined && random.float() < 0.2 ? 4000 : 0
    const position = lagMs > 0 ? history.positionAt(this.#options.queue.nowMs - lagMs) : history.position
    const { changedAt, isAbsent } = history.stateAt(path, position)
    // Some objects have shorter lifetimes than others.
    const lifetimeMs = history.lifetimeMs * (changedAt % 3 === 0 ? 0.4 : 1)
    const version = isAbsent ? undefined : changedAt
    return this.#reply({ kind: 'object', version, position, changedAt }, lifetimeMs, isAbsent)
  }

  #readSegments(refs: readonly SegmentRef[]): Reply | undefined {
    const isDropped = ({ to }: SegmentRef) => this.#options.bug === 'segment dropped' && to % 4 === 0
    const filters = refs.map(ref => (isDropped(ref) ? NOTHING : this.#sketch.segment(ref)))
    if (!filters.every(filter => filter !== undefined)) return undefined
    return this.#reply({ kind: 'segments', filters }, this.#options.history.lifetimeMs, false)
  }

  #head(after: Position | undefined, nonce: string): string {
    const made = { ...this.#sketch.head(after), log: LOG, timeMs: Math.floor(this.storeMs()) }
    const { tail } = made
    const head: CoherenceHead =
      'filter' in tail ? made : { ...made, tail: { ...tail, changes: this.#asListed(tail.from, tail.changes) } }
    const news = formatNews(head, after, nonce)
    return JSON.stringify(news === undefined ? { ...head, nonce } : { news })
  }

  #asListed(from: Position, packed: PackedChanges): PackedChanges {
    if (this.#options.bug !== 'listed change dropped') return packed
    const { to, changes } = unpackChanges(from, packed)
    return packChanges(from, to, changes.slice(1))
  }

  #reply(content: Content, lifetimeMs: number, isNoStore: boolean): Reply {
    const { queue, history, name } = this.#options
    const dateMs = queue.nowMs + history.wallErrorMs
    return { lifetimeMs, isNoStore, ageMs: 0, dateMs, content, readMs: queue.nowMs, servedBy: name }
  }

  #asLogged({ created, keys, position, timeMs }: Commit): LogEntry {
    const isForgotten = this.#options.bug === 'creation is no change'
    return { position, timeMs, keys: isForgotten ? keys.filter(key => !created.includes(key)) : keys, tags: [] }
  }

  /** Writes a promise to disk before it takes effect. */
  #usePromised(): void {
    const { history } = this.#options
    if (this.#usedMs === history.lifetimeMs) return
    this.#usedMs = history.lifetimeMs
    history.remembered = this.#lifetimes.use(history.lifetimeMs, this.storeMs()) ?? history.remembered
  }

  #windowMs(): number {
    const { history, mix, bug } = this.#options
    const windowMs = this.#lifetimes.windowMs(this.storeMs())
    if (bug === 'window too short') return windowMs - history.lifetimeMs
    if (bug === 'lowering forgets the promise') return history.lifetimeMs + mix.responseMsMax + mix.slackMs
    if (bug === 'raising forgets the window') {
      return Math.min(windowMs, mix.lifetimeMs + mix.responseMsMax + mix.slackMs)
    }
    return windowMs
  }

  #createLifetimes(): Lifetimes {
    const { history, mix } = this.#options
    return new Lifetimes({
      ...(history.remembered && { remembered: history.remembered }),
      nowMs: history.nowMs(),
      responseMsMax: mix.responseMsMax,
      slackMs: mix.slackMs,
    })
  }

  #createSketch(): Sketch {
    const { history, bug } = this.#options
    const from = bug === 'sketch lost in a crash' ? history.position : history.trimmedTo
    return createSketch({ seed: SEED, from, windowMs: this.#windowMs() })
  }
}
