/** A reader: a real Session, a browser cache, and code that fetches what the session decides. */
import { ServerClock } from '@freshet/core/clock'
import {
  decodeFilter,
  formatSegmentRefs,
  packChanges,
  type ReaderHead,
  type ReadMode,
  SEGMENTS_PER_BUNDLE_MAX,
  Session,
  unpackChanges,
} from '@freshet/core/coherence'
import type { ChangesEvent, CoherenceHead, CoherenceNews, Path, Position, SegmentRef } from '@freshet/protocol'
import { FreshetError } from '@freshet/protocol'
import type { EventQueue } from '../simulator/event-queue.js'
import { Standstill } from '../simulator/standstill.js'
import { type Checker, type OpenRead, SessionRecord } from './checker.js'
import type { Strategy } from './mix.js'
import type { PlantedBug } from './planted-bugs.js'
import { SEED } from './server-worker.js'
import { objectRequest, type Reply, type Request, type Upstream } from './wire.js'

const ATTEMPTS_MAX = 6
/** As the client's reader does: normally, then past the caches that heed requests, then at the session's own position. */
const WAYS_MAX = 3

/** Counts of one read: how many attempts, and in how many ways the answers were refused. */
interface Tries {
  readonly attempts: number
  readonly ways: number
}

type Refreshed = 'done' | 'lost' | 'replayed'

export interface ReaderOptions {
  readonly name: string
  readonly stalenessMs: number
  /** The error of the reader's own clock, which continues while the reader sleeps or stalls. */
  readonly clockErrorMs: number
  readonly queue: EventQueue
  readonly checker: Checker
  readonly upstream: Upstream
  readonly bug: PlantedBug | undefined
  readonly strategy: Strategy
}

export class Reader {
  isAsleep = false
  readonly stall: Standstill
  lastPath: Path | undefined
  failed = 0
  refused = 0
  untrustworthy = 0
  heads = 0
  session: Session
  /** The store's clock, as heads report it. Only a planted bug judges events by it. */
  readonly storeClock: ServerClock = new ServerClock()
  record: SessionRecord = new SessionRecord()
  readonly #options: ReaderOptions

  constructor({ upstream, ...options }: ReaderOptions) {
    this.stall = new Standstill(options.queue)
    const fetch: Upstream['fetch'] = (request, done) =>
      upstream.fetch(request, reply => this.stall.whenOver(() => done(reply)))
    this.#options = { ...options, upstream: { fetch, passWrite: path => upstream.passWrite(path) } }
    this.session = new Session({ stalenessMs: options.stalenessMs })
  }

  get name(): string {
    return this.#options.name
  }

  /** By the reader's own clock. */
  get nowMs(): number {
    return this.#options.queue.nowMs + this.#options.clockErrorMs
  }

  /** Continues from the current state of another session. */
  continueFrom(other: Reader): void {
    this.session = new Session({ stalenessMs: this.#options.stalenessMs, token: other.session.token })
    this.record = new SessionRecord(other.record)
  }

  read(path: Path, mode: ReadMode, done: () => void): void {
    this.lastPath = path
    const { queue, checker, stalenessMs, name } = this.#options
    const read = checker.begin(name, path, mode, stalenessMs, this.record, queue.nowMs)
    this.#attempt(read, this.session, { attempts: 0, ways: 0 }, done)
  }

  /** Called when a write passes on its way to the server. */
  passWrite(path: Path): void {
    this.#options.upstream.passWrite(path)
  }

  wrote(path: Path, position: Position): void {
    this.record.noteWrite(path, position)
    if (this.#options.bug !== 'floors not kept') this.session.wrote([path], position)
  }

  /** `asOfMs`: by the reader's own clock, as the stream knows it. */
  push(event: ChangesEvent, asOfMs: number): void {
    if (this.isAsleep) return
    const ignoresGaps = this.#options.bug === 'gaps in events ignored'
    const taken = ignoresGaps ? beginningAt(Math.min(event.from, this.session.position), event) : event
    const isTaken = this.session.push(taken, asOfMs)
    if (!isTaken) this.#refresh(this.session, () => {})
  }

  #attempt(read: OpenRead, session: Session, { attempts, ways }: Tries, done: () => void): void {
    const again = (more: number) => this.#attempt(read, session, { attempts: attempts + 1, ways: ways + more }, done)
    if (ways >= WAYS_MAX) {
      this.untrustworthy++
      done()
    } else if (attempts >= ATTEMPTS_MAX + ways) {
      this.failed++
      done()
    } else if (this.#needsRefresh(session, read)) {
      this.#refresh(session, refreshed => again(refreshed === 'replayed' ? 1 : 0))
    } else {
      this.#fetch(read, session, ways, again, done)
    }
  }

  #fetch(read: OpenRead, session: Session, way: number, again: (more: number) => void, done: () => void): void {
    const { strategy, upstream } = this.#options
    const at = strategy === 'freshet' ? this.#at(read, session, way) : undefined
    const isRevalidation = strategy === 'revalidate' && session.at({ paths: [read.path] }, read.mode) !== undefined
    const { position } = session
    upstream.fetch(objectRequest(read.path, at, way > 0 || isRevalidation), reply => {
      if (reply === undefined) return again(0)
      // If the session requires more by now than when this request was sent, no cache is to blame.
      if (!this.#accepts(session, read, at, reply)) {
        return again((this.#at(read, session, way) ?? 0) <= (at ?? 0) ? 1 : 0)
      }
      this.#options.checker.end(read, { at, reply, position }, this.#options.queue.nowMs)
      done()
    })
  }

  #at({ path, mode }: OpenRead, session: Session, way: number): Position | undefined {
    const at = session.at({ paths: [path] }, mode)
    return way < WAYS_MAX - 1 || mode === 'any' ? at : Math.max(at ?? 0, session.position)
  }

  #needsRefresh(session: Session, { mode, beganMs }: OpenRead): boolean {
    const { strategy, clockErrorMs } = this.#options
    return strategy !== 'plain' && session.needsRefresh(mode, beganMs + clockErrorMs)
  }

  #accepts(session: Session, { path, mode }: OpenRead, at: Position | undefined, { content }: Reply): boolean {
    const { bug, strategy } = this.#options
    if (content.kind !== 'object' || strategy !== 'freshet' || bug === 'floors not kept') return true
    if (bug === 'unproven answers believed' && content.position === undefined) return true
    if (!session.accepts({ paths: [path] }, at, mode, content)) {
      this.refused++
      return bug === 'refusals ignored'
    }
    session.saw(path, content.version ?? content.position ?? 0)
    return true
  }

  #refresh(session: Session, done: (refreshed: Refreshed) => void): void {
    const { after, at } = session.headRequest
    this.#askHead(session, after, at, done)
  }

  #askHead(session: Session, after: Position | undefined, at: Position, done: (refreshed: Refreshed) => void): void {
    this.heads++
    const { queue, upstream, name } = this.#options
    const askedMs = queue.nowMs
    const nonce = `${name} ${this.heads}`
    const url = `/coherence?after=${after}&at=${at}&nonce=${nonce}`
    upstream.fetch({ target: { kind: 'head', after, at, nonce }, url, isReload: false }, reply => {
      if (reply?.content.kind !== 'head') return queue.after(200, () => done('lost'))
      const head = this.#readHead(session, reply.content.text, after, nonce)
      if (head === 'replayed') return queue.after(200, () => done('replayed'))
      if (head === undefined) return this.#askHead(session, undefined, at, done)
      const plan = session.planHead(head, after)
      if (plan.kind === 'restart') return this.#askHead(session, undefined, at, done)
      const missing = plan.kind === 'install' ? plan.missing : []
      this.#fetchSegments(missing, [], filters => {
        if (filters) this.#install(session, head, after, filters, askedMs)
        done(filters ? 'done' : 'lost')
      })
    })
  }

  /** Reads a head as the client does. Undefined if the reader must request a whole head. */
  #readHead(
    session: Session,
    text: string,
    after: Position | undefined,
    nonce: string,
  ): ReaderHead | 'replayed' | undefined {
    const answer = JSON.parse(text) as CoherenceHead | CoherenceNews
    const isBlind = this.#options.bug === 'nonces not checked'
    if ('news' in answer) return after === undefined ? 'replayed' : session.readNews(answer.news, nonce)
    return answer.nonce === nonce || isBlind ? answer : 'replayed'
  }

  #fetchSegments(
    missing: readonly SegmentRef[],
    got: readonly Uint8Array[],
    done: (filters?: readonly Uint8Array[]) => void,
  ): void {
    if (missing.length === 0) {
      done(got)
      return
    }
    const refs = missing.slice(0, SEGMENTS_PER_BUNDLE_MAX)
    const request: Request = {
      target: { kind: 'segments', refs },
      url: `/coherence/segments/${formatSegmentRefs(refs)}`,
      isReload: false,
    }
    this.#options.upstream.fetch(request, reply => {
      if (reply?.content.kind !== 'segments') return done()
      this.#fetchSegments(missing.slice(refs.length), [...got, ...reply.content.filters], done)
    })
  }

  #install(
    session: Session,
    head: ReaderHead,
    after: Position | undefined,
    filters: readonly Uint8Array[],
    askedMs: number,
  ): void {
    const asked = askedMs + this.#options.clockErrorMs
    this.storeClock.sample(asked, head.timeMs)
    const decoded = filters.map(bytes => decodeFilter(bytes, SEED))
    try {
      session.installHead(head, after, decoded, asked)
    } catch (error) {
      // Another head came first, and this one no longer connects to it: the caller asks again.
      if (!(error instanceof FreshetError && error.code === 'ANSWER_INVALID')) throw error
    }
  }
}

/** The same changes, as if no others had happened since an earlier position. */
function beginningAt(from: Position, event: ChangesEvent): ChangesEvent {
  const { to, changes } = unpackChanges(event.from, event.changes)
  return { ...event, from, changes: packChanges(from, to, changes) }
}
