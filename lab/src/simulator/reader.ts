/** A reader: a real Session, a browser cache, and an owner who fetches what the session decides. */
import {
  decodeFilter,
  formatNews,
  formatSegmentRefs,
  packChanges,
  type ReaderHead,
  type ReadMode,
  SEGMENTS_PER_BUNDLE_MAX,
  Session,
  unpackChanges,
} from '@freshet/core/coherence'
import type { ChangesEvent, CoherenceHead, Path, Position, SegmentRef } from '@freshet/protocol'
import { FreshetError } from '@freshet/protocol'
import type { Agenda } from './agenda.js'
import { type Checker, type OpenRead, SessionRecord } from './checker.js'
import type { PlantedBug, Strategy } from './mix.js'
import { SEED } from './server-worker.js'
import { objectRequest, type Reply, type Request, type Upstream } from './wire.js'

const ATTEMPTS_MAX = 6

export interface ReaderOptions {
  readonly name: string
  readonly stalenessMs: number
  /** The reader's own clock is off by so much. It only goes forward. */
  readonly clockErrorMs: number
  readonly agenda: Agenda
  readonly checker: Checker
  readonly upstream: Upstream
  readonly bug: PlantedBug | undefined
  readonly strategy: Strategy
}

export class Reader {
  isAsleep = false
  lastPath: Path | undefined
  failed = 0
  refused = 0
  heads = 0
  session: Session
  record: SessionRecord = new SessionRecord()
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
    this.session = new Session({ stalenessMs: options.stalenessMs })
  }

  get name(): string {
    return this.#options.name
  }

  /** Goes on where another session is now. */
  continueFrom(other: Reader): void {
    this.session = new Session({ stalenessMs: this.#options.stalenessMs, token: other.session.token })
    this.record = new SessionRecord(other.record)
  }

  read(path: Path, mode: ReadMode, done: () => void): void {
    this.lastPath = path
    const { agenda, checker, stalenessMs, name } = this.#options
    const read = checker.begin(name, path, mode, stalenessMs, this.record, agenda.nowMs)
    this.#attempt(read, this.session, 0, false, done)
  }

  /** On its way to the server. */
  passWrite(path: Path): void {
    this.#options.upstream.passWrite(path)
  }

  wrote(path: Path, position: Position): void {
    this.record.noteWrite(path, position)
    if (this.#options.bug !== 'floors not kept') this.session.wrote(path, position)
  }

  /** `madeMs` is when the server, having caught up, made the event; the reader knows it only roughly. */
  push(event: ChangesEvent, madeMs: number, errorMs: number): void {
    if (this.isAsleep) return
    const ignoresGaps = this.#options.bug === 'gaps in events ignored'
    const taken = ignoresGaps ? beginningAt(Math.min(event.from, this.session.position), event) : event
    const isTaken = this.session.push(taken, madeMs + this.#options.clockErrorMs - errorMs)
    if (!isTaken) this.#refresh(this.session, () => {})
  }

  #attempt(read: OpenRead, session: Session, attempts: number, isReload: boolean, done: () => void): void {
    const again = (reload: boolean) => this.#attempt(read, session, attempts + 1, reload, done)
    if (attempts >= ATTEMPTS_MAX) {
      this.failed++
      done()
    } else if (this.#needsRefresh(session, read)) {
      this.#refresh(session, () => again(isReload))
    } else {
      this.#fetch(read, session, isReload, again, done)
    }
  }

  #fetch(
    read: OpenRead,
    session: Session,
    isReload: boolean,
    again: (reload: boolean) => void,
    done: () => void,
  ): void {
    const { strategy, upstream } = this.#options
    const changedAt = strategy === 'plain' ? undefined : session.at(read.path, read.mode)
    const at = strategy === 'freshet' ? changedAt : undefined
    const isRevalidation = strategy === 'revalidate' && changedAt !== undefined
    const { position } = session
    upstream.fetch(objectRequest(read.path, at, isReload || isRevalidation), reply => {
      if (reply === undefined) return again(isReload)
      if (!this.#accepts(session, read, at, reply)) return again(true)
      this.#options.checker.end(read, { at, reply, position }, this.#options.agenda.nowMs)
      done()
    })
  }

  #needsRefresh(session: Session, { mode, beganMs }: OpenRead): boolean {
    const { strategy, clockErrorMs } = this.#options
    return strategy !== 'plain' && session.needsRefresh(mode, beganMs + clockErrorMs)
  }

  #accepts(session: Session, { path, mode }: OpenRead, at: Position | undefined, { content }: Reply): boolean {
    const { bug, strategy } = this.#options
    if (content.kind !== 'object' || strategy !== 'freshet' || bug === 'floors not kept') return true
    if (session.accepts(path, at, content, mode)) return true
    this.refused++
    return bug === 'refusals ignored'
  }

  #refresh(session: Session, done: () => void): void {
    const { after, at } = session.headRequest
    this.#askHead(session, after, at, done)
  }

  /** Failures end in `done` too: whoever waits looks whether the session will do now. */
  #askHead(session: Session, after: Position | undefined, at: Position, done: () => void): void {
    this.heads++
    const askedMs = this.#options.agenda.nowMs
    const request: Request = {
      target: { kind: 'head', after, at },
      url: `/coherence?after=${after}&at=${at}`,
      isReload: false,
    }
    this.#options.upstream.fetch(request, reply => {
      if (reply?.content.kind !== 'head') return this.#options.agenda.after(200, done)
      const head = asRead(session, reply.content.head, after)
      if (head === undefined) return this.#askHead(session, undefined, at, done)
      const plan = session.planHead(head, after)
      if (plan.kind === 'restart') return this.#askHead(session, undefined, at, done)
      const missing = plan.kind === 'install' ? plan.missing : []
      this.#fetchSegments(missing, [], filters => {
        if (filters) this.#install(session, head, after, filters, askedMs)
        done()
      })
    })
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
    const decoded = filters.map(bytes => decodeFilter(bytes, SEED))
    try {
      session.installHead(head, after, decoded, asked)
    } catch (error) {
      // Another head came first, and this one does not join on any more: whoever waits asks again.
      if (!(error instanceof FreshetError && error.code === 'ANSWER_INVALID')) throw error
    }
  }
}

/** As servers send heads, and clients read them; undefined if a whole one must be asked for. */
function asRead(session: Session, head: CoherenceHead, after: Position | undefined): ReaderHead | undefined {
  const news = formatNews(head, after)
  return news === undefined ? (JSON.parse(JSON.stringify(head)) as CoherenceHead) : session.readNews(news)
}

/** The same changes, as if nothing else had happened since an earlier position. */
function beginningAt(from: Position, event: ChangesEvent): ChangesEvent {
  const { to, changes } = unpackChanges(event.from, event.changes)
  return { ...event, from, changes: packChanges(from, to, changes) }
}
