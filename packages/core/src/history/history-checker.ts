/**
 * Reads a recorded history and finds every read that broke what it was promised (`violation.ts`), as it streams by, in
 * bounded memory. It never accuses on a guess:
 *
 * - A read is held to the writes that were acknowledged before it began. Within one clock that is exact. Between clocks a
 *   write counts only if it came first wherever the two times lie in their ranges (`server-times.ts`). Anything in between
 *   is undecided.
 * - Only recorded writes can be missed. Writes that were not recorded make a version higher, never lower. If an object is
 *   absent, the checker takes the latest deletion that the read may have seen as the one that it saw (`coverage.ts`).
 * - A session is held to the operations that had ended before the read began; a read says nothing about one that it overlaps.
 *
 * A read is judged when the stream is some seconds past it, since the write it missed may be in another recording. Lines of
 * one session come in the order in which they were recorded, those of different recordings about as they happened.
 */
import type { Position } from '@freshet/protocol'
import { Coverage } from './coverage.js'
import { Generations } from './generations.js'
import { type HistorySummary, HistoryTally } from './history-tally.js'
import { type KnownWrite, KnownWrites } from './known-writes.js'
import type { HistoryRecord, ReadRecord, SessionRecord, TokenRecord, WriteRecord } from './record.js'
import { isBefore, type Moment, type Order, ServerTimes } from './server-times.js'
import { type Floor, type HandOver, noteFloor, SessionFloors } from './session-floors.js'
import type { Promised, Violation } from './violation.js'

export interface HistoryCheckerOptions {
  /** Called for each violation, in about the order of the stream. */
  readonly onViolation?: (violation: Violation) => void
  /** The recordings hold every write, so an object that is not there was deleted by one of them, or never existed. */
  readonly isComplete?: boolean
  /** How far apart in time recordings may be, and how long a read waits for its verdict, by the time in the stream. */
  readonly settleMs?: number
  /** How much of the history is held. */
  readonly windowMs?: number
  /** How many paths, pairs of session and path, and sessions are remembered; at most twice as many paths and pairs. */
  readonly pathsMax?: number
  readonly pairsMax?: number
  readonly sessionsMax?: number
  readonly readsMax?: number
}

interface KnownSession {
  readonly clock: string
  readonly log: string
  readonly isServer: boolean
}

interface PendingRead {
  readonly read: ReadRecord
  readonly session: KnownSession
  readonly name: string
  readonly endedUs: number
  readonly seen: Floor | undefined
  readonly wrote: Floor | undefined
}

const MS = 1000

export class HistoryChecker {
  readonly #options: Required<Omit<HistoryCheckerOptions, 'onViolation'>> & Pick<HistoryCheckerOptions, 'onViolation'>
  readonly #times = new ServerTimes()
  readonly #coverage = new Coverage(this.#times)
  readonly #sessions: Generations<KnownSession>
  readonly #tokens: Generations<HandOver>
  readonly #writes: KnownWrites
  readonly #floors: SessionFloors
  readonly #tally = new HistoryTally()
  #pending: PendingRead[] = []
  /** The index of the next read to judge; those before it have been judged. */
  #next = 0
  /** How far the stream has come, about, in server time. */
  #nowUs = Number.NEGATIVE_INFINITY

  constructor(options: HistoryCheckerOptions = {}) {
    this.#options = {
      isComplete: false,
      settleMs: 15_000,
      windowMs: 120_000,
      pathsMax: 200_000,
      pairsMax: 500_000,
      sessionsMax: 100_000,
      readsMax: 500_000,
      ...options,
    }
    const { sessionsMax, pathsMax, pairsMax, windowMs } = this.#options
    this.#sessions = new Generations(sessionsMax)
    this.#tokens = new Generations(sessionsMax)
    this.#writes = new KnownWrites({ pathsMax, windowUs: windowMs * MS })
    this.#floors = new SessionFloors({ pairsMax, sessionsMax })
  }

  add(record: HistoryRecord): void {
    this.#tally.lines++
    if (record.op === 'session') {
      this.#addSession(record)
      return
    }
    const session = this.#sessions.get(record.s)
    if (session === undefined) this.#tally.withoutSession++
    else if (record.op === 'read') this.#addRead(record, session)
    else if (record.op === 'token') this.#addToken(record)
    else this.#addWrite(record, session)
  }

  /** The stream has ended: judges the reads that still wait. */
  finish(): HistorySummary {
    this.#judgeUntil(Number.POSITIVE_INFINITY)
    return this.summary()
  }

  /** Covers the reads that have been judged so far. */
  summary(): HistorySummary {
    return this.#tally.summary({
      waiting: this.#pending.length - this.#next,
      forgotten: this.#writes.forgotten + this.#floors.forgotten + this.#sessions.forgotten,
    })
  }

  #addSession(record: SessionRecord): void {
    const { s, c: clock, log, t, lo, hi, from, role } = record
    const isKnown = this.#sessions.get(s) !== undefined
    if (!isKnown) this.#tally.sessions++
    this.#sessions.set(s, { clock: `${clock} ${log}`, log, isServer: role === 'server' })
    if (lo !== undefined && hi !== undefined) this.#times.add(`${clock} ${log}`, { t, lo, hi })
    this.#coverage.note({ ...record, c: `${clock} ${log}` })
    this.#advance(`${clock} ${log}`, t)
    if (from === undefined) return
    const handOver = this.#tokens.get(from)
    this.#tally.handOvers++
    if (handOver === undefined) this.#tally.handOversUnknown++
    else if (handOver.session !== s) this.#floors.continue(s, handOver)
  }

  #addToken({ s: session, t: atUs, token }: TokenRecord): void {
    this.#tokens.set(token, { session, atUs })
  }

  #addWrite(write: WriteRecord, { clock, log, isServer }: KnownSession): void {
    this.#tally.writes++
    const { s: session, b, e, at: position, w = [], d = [] } = write
    const acknowledgement = { session, began: { clock, us: b }, ended: { clock, us: e } }
    const nowUs = this.#advance(clock, e)
    for (const [paths, isDelete] of [[w, false] as const, [d, true] as const]) {
      for (const path of paths) {
        const name = `${log} ${path}`
        this.#writes.note(name, position, isDelete, acknowledgement, nowUs)
        if (isServer) continue
        noteFloor(this.#floors.of(session, name).wrote, { session, endedUs: e, position, isAbsent: isDelete })
      }
    }
  }

  #addRead(read: ReadRecord, session: KnownSession): void {
    const { s, path, b, e, v, pos } = read
    const name = `${session.log} ${path}`
    const endedUs = this.#advance(session.clock, e)
    let seen: Floor | undefined
    let wrote: Floor | undefined
    if (!session.isServer) {
      const floors = this.#floors.of(s, name)
      if (read.within !== undefined) {
        seen = this.#floors.before('seen', floors, s, name, b)
        wrote = this.#floors.before('wrote', floors, s, name, b)
      }
      noteFloor(floors.seen, { session: s, endedUs: e, position: v || pos, isAbsent: v === 0 })
    }
    this.#pending.push({ read, session, name, endedUs, seen, wrote })
    if (this.#pending.length - this.#next > this.#options.readsMax) this.#judgeNext()
  }

  /** The stream's time after this line. */
  #advance(clock: string, timeUs: number): number {
    const nowUs = this.#times.estimate(clock, timeUs)
    if (nowUs > this.#nowUs) {
      this.#nowUs = nowUs
      this.#judgeUntil(nowUs - this.#options.settleMs * MS)
    }
    return this.#nowUs
  }

  #judgeUntil(endedUs: number): void {
    while (this.#next < this.#pending.length && this.#pending[this.#next]!.endedUs <= endedUs) this.#judgeNext()
  }

  #judgeNext(): void {
    this.#judge(this.#pending[this.#next++]!)
    if (this.#next < 4096 || this.#next * 2 < this.#pending.length) return
    this.#pending = this.#pending.slice(this.#next)
    this.#next = 0
  }

  #judge(pending: PendingRead): void {
    const { read, session, name } = pending
    const writes = this.#writes.of(name)
    const began: Moment = { clock: session.clock, us: read.b }
    const ended: Moment = { clock: session.clock, us: read.e }
    // An absent object is taken to be as recent as it can be.
    const shown = read.v > 0 ? read.v : this.#lastDeletion(writes, ended)
    const staleMs = this.#stalenessMs(writes, shown, began)
    const verdict = this.#tally.read(read, staleMs, writes.length > 0)
    if (read.within === undefined) return
    const broken = [
      ...this.#brokenByWrites(pending, writes, shown, began),
      ...this.#brokenByFloors(pending, writes, shown, began),
    ]
    if (broken.length === 0) return
    const latest = Math.max(...broken.map(({ missed, floor }) => missed?.position ?? floor?.position ?? 0))
    const { isComplete } = this.#options
    if (read.v === 0 && !isComplete && !this.#coverage.isComplete(session.log, read.path, latest, ended)) {
      this.#tally.undecidedAbsence++
      return
    }
    verdict.isBroken()
    for (const violation of broken) this.#accuse(violation)
  }

  #brokenByWrites(
    { read, session }: PendingRead,
    writes: readonly KnownWrite[],
    shown: Position,
    began: Moment,
  ): Violation[] {
    const broken: Violation[] = []
    let isUndecided = false
    let due: KnownWrite | undefined
    let included: KnownWrite | undefined
    for (let index = writes.length - 1; index >= 0; index--) {
      const write = writes[index]!
      if (write.position <= shown) break
      const order = due === undefined ? this.#acknowledgedBefore(write, began, read.within! * MS) : 'before'
      if (order === 'before') due ??= write
      else if (order === 'unknown') isUndecided = true
      if (included === undefined && write.position <= (session.isServer ? 0 : (read.sp ?? 0))) included = write
    }
    if (due !== undefined) broken.push(this.#violation('current', read, session, began, due))
    else if (isUndecided) this.#tally.undecidedTimes++
    if (included !== undefined) broken.push(this.#violation('position', read, session, began, included))
    return broken
  }

  #brokenByFloors(
    { read, session, seen, wrote }: PendingRead,
    writes: readonly KnownWrite[],
    shown: Position,
    began: Moment,
  ): Violation[] {
    const broken: Violation[] = []
    const check = (promised: Promised, floor: Floor | undefined) => {
      if (floor === undefined || floor.position <= shown) return
      // Absent now, and absent in the later state too: the order of the two cannot be known.
      if (read.v === 0 && floor.isAbsent) return
      const missed = writes.findLast(({ position }) => position === floor.position)
      broken.push({ ...this.#violation(promised, read, session, began, missed), floor })
    }
    check('monotonic', seen)
    check('own write', wrote)
    return broken
  }

  #lastDeletion(writes: readonly KnownWrite[], ended: Moment): Position {
    const deletion = writes.findLast(
      write =>
        write.isDelete && !write.acknowledged.some(({ began }) => isBefore(this.#times, ended, began, 0) === 'before'),
    )
    return deletion?.position ?? 0
  }

  #acknowledgedBefore(write: KnownWrite, began: Moment, byUs: number): Order {
    let isUnknown = false
    for (const { ended } of write.acknowledged) {
      const order = isBefore(this.#times, ended, began, byUs)
      if (order === 'before') return 'before'
      if (order === 'unknown') isUnknown = true
    }
    return isUnknown ? 'unknown' : 'not before'
  }

  /** How long before the read began something newer had been acknowledged, about; undefined if nothing had. */
  #stalenessMs(writes: readonly KnownWrite[], shown: Position, began: Moment): number | undefined {
    let oldest: KnownWrite | undefined
    for (let index = writes.length - 1; index >= 0 && writes[index]!.position > shown; index--) oldest = writes[index]!
    if (oldest === undefined) return undefined
    let ageUs = 0
    for (const { ended } of oldest.acknowledged) {
      const isOne = ended.clock === began.clock
      const [from, to] = isOne ? [ended.us, began.us] : [this.#times.about(ended), this.#times.about(began)]
      ageUs = Math.max(ageUs, to - from)
    }
    return ageUs > 0 ? ageUs / MS : undefined
  }

  #ageMs(from: Moment, to: Moment): { least: number; most: number } {
    if (from.clock === to.clock) return { least: (to.us - from.us) / MS, most: (to.us - from.us) / MS }
    const [a, b] = [this.#times.place(from.clock, from.us), this.#times.place(to.clock, to.us)]
    return { least: (b.lo - a.hi) / MS, most: (b.hi - a.lo) / MS }
  }

  #violation(
    promised: Promised,
    read: ReadRecord,
    { log, clock }: KnownSession,
    began: Moment,
    missed: KnownWrite | undefined,
  ): Violation {
    const ages = (missed?.acknowledged ?? []).map(({ ended }) => this.#ageMs(ended, began))
    const acknowledgedMsBefore = ages.sort((a, b) => b.least - a.least)[0]
    return {
      promised,
      read,
      log,
      clock,
      missed,
      acknowledgedMsBefore,
      floor: undefined,
    }
  }

  #accuse(violation: Violation): void {
    this.#tally.violation(violation.promised)
    this.#options.onViolation?.(violation)
  }
}
