/**
 * Reads from replicas of an engine that replicates by itself, never older than reads from the primary: the level CURRENT of
 * the paper (Akbarinia, Pacitti, Valduriez), over PostgreSQL, MariaDB and Redis. The nearest replica is asked first; the next
 * one, and at last the primary, only if the replica is behind in the requested data.
 *
 * A replica applies the primary's commits, in their order, some time later. Each of its answers includes, from the same
 * state, how far it has come: the position s of the store's own head. So this server need not know how the engine counts
 * (LSN, GTID), and takes nothing on trust. A reader must not miss a commit that was acknowledged earlier. That bound is
 * `required`: a position that the primary has reported already, or that it is asked for while the replica reads the value.
 * The answer is accepted if
 *
 *     s is known,  and  s >= required, or nothing that the answer depends on changed after s
 *
 * - *Nothing changed*: according to the change log, which this server follows, or catches up with now, at least to `required`
 *   (`LastChanges`). A commit appends to the log in the same step that changes the data, and positions are in the order of
 *   commits. So what is not in the log between s and `required` is the same in both states, and the replica's answer is that
 *   of the state at `required`. For one object, a replica that is seconds behind is nearly always current.
 * - *s is known*: the primary has reported this position, itself or in its log. So no reader sees a commit that the primary
 *   does not show yet because it waits for its disk or for another replica. And no position is given twice (0005): a replica
 *   that was promoted, and written to by another server, has a position that is not known, and so has a replica that follows
 *   it.
 * - *A primary that is gone may have lost its last moments*, and some replica may have them. A server that reconnects to a
 *   primary first makes positions continue from the time of day, and forgets all earlier positions (`startOver`). Those are
 *   never known again.
 *
 * Which replica is asked: the nearest that was not seen, a moment ago, to be behind in the requested data. That is a guess,
 * and decides nothing else. A replica that is gone, slow, too far behind for the known part of the log, or not of this store
 * is not used until a background check finds it well: so one read pays for that, not all.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Key, LogEntry, MaybePromise, Position, ReadCount, Snapshot } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { LastChanges } from './last-changes.js'
import { isSlow, type Nearness, nearestFirst } from './nearest-first.js'

export interface Replica {
  /** Where it is, for messages; without a password. */
  readonly place: string
  close(): Promise<void>
}

export interface ReplicaReadsOptions<Reader extends Replica> {
  readonly replicas: readonly Reader[]
  /** The position of a replica. Throws at once if the replica does not answer, or is of another store. */
  readonly reached: (replica: Reader) => Promise<Position>
  /** The primary's position, now. */
  readonly position: () => Promise<Position>
  /** The primary's log, as returned by `Store.changes`. */
  readonly changes: (after: Position, limit: number) => Promise<readonly LogEntry[]>
  /** Called with the reason when a replica is no longer used. */
  readonly onWarning: (text: string) => void
}

export interface ReplicaRead<Reader, Result> {
  /** Any state that includes this position, which the primary has reported, is recent enough; undefined: the latest. */
  readonly atLeast: Position | undefined
  /** What the answer depends on: keys, and buckets as `listOf` names them. */
  readonly names: readonly string[]
  readonly ask: (replica: Reader) => Promise<Result & { readonly position: Position }>
  readonly askPrimary: () => Promise<Result>
}

export interface ReplicaReadEach<Reader, Value> {
  /** As in `ReplicaRead`. */
  readonly atLeast: Position | undefined
  readonly keys: readonly Key[]
  readonly ask: (replica: Reader, keys: readonly Key[]) => Promise<Snapshot<Values<Value>>>
  readonly askPrimary: (keys: readonly Key[]) => Promise<Values<Value>>
}

type Values<Value> = ReadonlyMap<Key, Value>

/** One replica's answer, and what is known about it. */
interface Answer<Result> {
  readonly found: Result
  /** The names for which the replica was asked. */
  readonly asked: readonly string[]
  /** What the answer must include. */
  readonly reached: Position
  /** Whether the answer is current in everything that depends on these names. */
  areCurrent(names: readonly string[]): boolean
  count(current: number, behind: number): void
}

/** How often unused replicas are checked, and replicas without recent reads. */
const LOOK_MS = 100
const LOOK_AT_IDLE_MS = 1000
/** How long to wait for a replica, beyond the time that it usually takes. */
const PATIENCE_MS = 50
const PATIENCE_TIMES = 8
const ANSWER_MS_MAX = 2000
/** For this long, a replica that was behind in something is not asked for it again. */
const MOMENT_MS = 100
/** The weight of the last answer in an average. */
const WEIGHT = 0.1
/** Larger, since checks are rare. */
const WEIGHT_OF_LOOK = 0.5
/** Limits on the known part of the log. */
const NAMES_MAX = 50_000
const ENTRIES_PER_READ = 1000
const READS_TO_CATCH_UP = 20
/** For this many checks in a row a replica may be at an unknown position: the primary may have jumped there unnoticed. */
const STRANGE_LOOKS = 20

interface Followed<Reader> extends Nearness {
  readonly replica: Reader
  /** How many reads it has answered, and how many it could not, because it was behind. */
  reads: number
  behind: number
  isUsed: boolean
  /** It was reported as missing; true until it is well again. */
  isMissed: boolean
  answerMs: number
  currentShare: number
  askedMs: number
  /** Its position at that time. */
  position: Position
  strangeLooks: number
}

export class ReplicaReads<Reader extends Replica> {
  readonly #options: ReplicaReadsOptions<Reader>
  readonly #followed: readonly Followed<Reader>[]
  readonly #changes = new LastChanges({ namesMax: NAMES_MAX })
  readonly #looks: NodeJS.Timeout | undefined
  #turn = 0
  #byPrimary = 0
  #primaryMs = 0
  #reported: Position = 0
  #epoch = 0
  #catchingUp: Promise<void> | undefined
  #lastNames: readonly string[] = []
  #isLooking = false
  #isClosed = false

  constructor(options: ReplicaReadsOptions<Reader>) {
    this.#options = options
    this.#followed = options.replicas.map(replica => ({
      replica,
      reads: 0,
      behind: 0,
      isUsed: false,
      isMissed: false,
      answerMs: 0,
      currentShare: 1,
      askedMs: 0,
      position: 0,
      strangeLooks: 0,
    }))
    if (this.#followed.length > 0) this.#looks = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  get isEmpty(): boolean {
    return this.#followed.length === 0
  }

  /** The answer of a replica that can be trusted, if there is one; otherwise the primary's. */
  async read<Result>({ atLeast, names, ask, askPrimary }: ReplicaRead<Reader, Result>): Promise<Result> {
    const wanted = (isLikely: (name: string) => boolean) => (names.every(isLikely) ? names : [])
    for await (const { found, reached, areCurrent, count } of this.#asking(atLeast, wanted, ask)) {
      const isCurrent = areCurrent(names)
      count(isCurrent ? 1 : 0, isCurrent ? 0 : 1)
      if (isCurrent) return found.position >= reached ? found : { ...found, position: reached }
    }
    this.#byPrimary++
    return askPrimary()
  }

  /**
   * Objects, each by itself: objects in which a replica is behind are requested from the next one. A key that is not in the
   * result does not exist.
   */
  async readEach<Value>({ atLeast, keys, ask, askPrimary }: ReplicaReadEach<Reader, Value>): Promise<Values<Value>> {
    const all = new Map<Key, Value>()
    let left = keys
    const wanted = (isLikely: (key: Key) => boolean) => left.filter(isLikely)
    for await (const { found, asked, areCurrent, count } of this.#asking(atLeast, wanted, ask)) {
      const current = new Set(asked.filter(key => areCurrent([key])))
      count(current.size, asked.length - current.size)
      for (const [key, value] of found.value) if (current.has(key)) all.set(key, value)
      left = left.filter(key => !current.has(key))
      if (left.length === 0) return all
    }
    this.#byPrimary += left.length
    const rest = await askPrimary(left)
    return all.size === 0 ? rest : new Map([...all, ...rest])
  }

  /** The primary has reported this position. */
  tell(position: Position): void {
    this.#reported = Math.max(this.#reported, position)
    this.#changes.learn(position)
  }

  /** The last position that the primary has reported: every read of its log that begins afterwards includes it. */
  get reported(): Position {
    return this.#reported
  }

  /** A part of the log was read, here or elsewhere: all entries after one position, up to another. */
  follow(after: Position, entries: readonly LogEntry[], upTo: Position): void {
    this.#changes.append(after, entries, upTo)
  }

  /** This may be another primary, without the last moments of the previous one: no earlier position counts as known. */
  startOver(): void {
    this.#epoch++
    this.#reported = 0
    this.#changes.forget()
    for (const followed of this.#followed) followed.isUsed = false
  }

  counts(): readonly ReadCount[] {
    const ofReplicas = this.#followed.map(({ replica, reads, behind, isUsed, answerMs }) => ({
      source: replica.place,
      reads,
      behind,
      isUsed,
      answerMs,
    }))
    return [{ source: 'primary', reads: this.#byPrimary }, ...ofReplicas]
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#looks)
    await Promise.all(this.#followed.map(({ replica }) => replica.close()))
  }

  #candidates(): readonly Followed<Reader>[] {
    const used = this.#followed.filter(each => each.isUsed && !isSlow(each, this.#primaryMs))
    return nearestFirst(used, this.#turn++)
  }

  /**
   * Asks one replica after the other, the nearest first, until the caller stops; each replica only for wanted names in which
   * it is probably current.
   */
  async *#asking<Result extends { readonly position: Position }>(
    atLeast: Position | undefined,
    wanted: (isLikely: (name: string) => boolean) => readonly string[],
    ask: (replica: Reader, names: readonly string[]) => Promise<Result>,
  ): AsyncGenerator<Answer<Result>> {
    let required: MaybePromise<Position> | undefined = atLeast
    for (const followed of this.#candidates()) {
      const asked = wanted(name => !this.#wasBehind(followed, name))
      if (asked.length === 0) continue
      this.#lastNames = asked
      // Runs while the first replica is asked.
      if (required === undefined) {
        required = this.#askPrimaryPosition()
        if (followed.position < this.#reported) this.#catchUpAlong()
      }
      if (typeof required !== 'number') required.catch(() => {})
      const found = await this.#ask(followed, replica => ask(replica, asked))
      if (found === 'refused') return
      if (found === 'missed') continue
      const { position } = found
      followed.position = position
      const reached = await required
      const isTellable = await this.#isTellable(position, reached)
      const areCurrent = (names: readonly string[]) =>
        isTellable && (position >= reached || this.#changes.areUnchangedSince(position, names))
      const count = (current: number, behind: number) => this.#count(followed, current, behind)
      yield { found, asked, reached, areCurrent, count }
      if (!isTellable) followed.isUsed = false
    }
  }

  /** Whether it was behind a moment ago, by its own answer: then it probably still is, and asking it would be in vain. */
  #wasBehind({ position, askedMs }: Followed<Reader>, name: string): boolean {
    return performance.now() - askedMs < MOMENT_MS && !this.#changes.areUnchangedSince(position, [name])
  }

  async #ask<Result>(
    followed: Followed<Reader>,
    ask: (replica: Reader) => Promise<Result>,
  ): Promise<Result | 'missed' | 'refused'> {
    try {
      const patienceMs = Math.min(ANSWER_MS_MAX, PATIENCE_MS + PATIENCE_TIMES * followed.answerMs)
      return await this.#timed(followed, patienceMs, () => ask(followed.replica))
    } catch (error) {
      // The primary may give the same answer to this request.
      if (error instanceof AskPrimary) return 'refused'
      if (error instanceof FreshetError && !error.code.startsWith('STORE_')) return 'refused'
      // A replica that was only slow is checked again soon, without a warning.
      if (error instanceof TooSlow) followed.isUsed = false
      else this.#miss(followed, error)
      return 'missed'
    }
  }

  async #timed<Result>(
    followed: Followed<Reader>,
    msMax: number,
    ask: () => Promise<Result>,
    weight: number = WEIGHT,
  ): Promise<Result> {
    const startMs = performance.now()
    followed.askedMs = startMs
    const result = await within(msMax, ask())
    const ms = performance.now() - startMs
    followed.answerMs = followed.answerMs === 0 ? ms : lately(followed.answerMs, ms, weight)
    return result
  }

  async #askPrimaryPosition(): Promise<Position> {
    const startMs = performance.now()
    const position = await this.#options.position()
    this.tell(position)
    const ms = performance.now() - startMs
    this.#primaryMs = this.#primaryMs === 0 ? ms : lately(this.#primaryMs, ms)
    return position
  }

  /** Whether an answer from this state can be compared with the state at `required`. */
  async #isTellable(position: Position, required: Position): Promise<boolean> {
    const changes = this.#changes
    if (position < required) await this.#catchUpTo(required)
    else if (!changes.isKnown(position) && position > changes.to) await this.#catchUpWith(position)
    return changes.isKnown(position) && (position >= required || changes.to >= required)
  }

  /** A replica is at this position. Finds out whether the primary has reported it. */
  async #catchUpWith(position: Position): Promise<void> {
    const reached = await this.#askPrimaryPosition().catch(() => 0)
    if (reached > position) await this.#catchUpTo(reached)
  }

  #count(followed: Followed<Reader>, current: number, behind: number): void {
    followed.reads += current
    followed.behind += behind
    followed.currentShare = lately(followed.currentShare, current / (current + behind))
  }

  /** Reads the log up to a position that the primary has reported, as far as possible. Concurrent callers share the reads. */
  async #catchUpTo(position: Position): Promise<void> {
    const changes = this.#changes
    for (let reads = 0; changes.to < position; reads++) {
      if (changes.from === Number.POSITIVE_INFINITY || reads === READS_TO_CATCH_UP) return
      if (this.#catchingUp !== undefined) {
        await this.#catchingUp
        continue
      }
      const before = changes.to
      this.#catchingUp = this.#readChanges(position)
      await this.#catchingUp
      if (changes.to === before) return
    }
  }

  /** The log will be needed as well; read right behind the request for the position, it takes no extra round trip. */
  #catchUpAlong(): void {
    this.#catchingUp ??= nextTurn().then(() => this.#readChanges(this.#reported))
  }

  async #readChanges(reached: Position): Promise<void> {
    const after = this.#changes.to
    try {
      const entries = await this.#options.changes(after, ENTRIES_PER_READ)
      const last = entries.at(-1)?.position ?? after
      this.follow(after, entries, entries.length < ENTRIES_PER_READ ? Math.max(last, reached) : last)
    } catch (error) {
      // The next check begins again. The primary itself reports any other error to readers.
      if (error instanceof FreshetError && error.code === 'LOG_TRIMMED') this.startOver()
    } finally {
      this.#catchingUp = undefined
    }
  }

  #miss(followed: Followed<Reader>, error: unknown): void {
    followed.isUsed = false
    if (followed.isMissed || this.#isClosed) return
    followed.isMissed = true
    const reason = error instanceof Error ? error.message : String(error)
    this.#options.onWarning(`The replica at ${followed.replica.place} is not read from: ${reason}`)
  }

  /** Checks the unused replicas, and those without recent reads. */
  async #look(): Promise<void> {
    const nowMs = performance.now()
    const due = this.#followed.filter(({ isUsed, askedMs }) => !isUsed || nowMs - askedMs > LOOK_AT_IDLE_MS)
    if (this.#isLooking || due.length === 0) return
    this.#isLooking = true
    try {
      const epoch = this.#epoch
      const position = await this.#askPrimaryPosition()
      if (epoch === this.#epoch && this.#changes.from === Number.POSITIVE_INFINITY) this.#changes.startAt(position)
      await Promise.all(due.map(followed => this.#lookAt(followed)))
    } catch {
      // While the primary is gone there is nothing to compare with, and the next read reports it.
    }
    this.#isLooking = false
  }

  async #lookAt(followed: Followed<Reader>): Promise<void> {
    try {
      const { replica, isUsed } = followed
      if (!isUsed) {
        // This may have to connect first, which must not be measured.
        await within(ANSWER_MS_MAX, this.#options.reached(replica))
        followed.answerMs = 0
      }
      const position = await this.#timed(followed, ANSWER_MS_MAX, () => this.#options.reached(replica), WEIGHT_OF_LOOK)
      followed.position = position
      if (!this.#changes.isKnown(position) && position > this.#changes.to) await this.#catchUpWith(position)
      if (this.#changes.isKnown(position)) {
        followed.isUsed = true
        followed.isMissed = false
        followed.strangeLooks = 0
        const isCurrent = this.#changes.areUnchangedSince(position, this.#lastNames)
        followed.currentShare = lately(followed.currentShare, isCurrent ? 1 : 0)
        return
      }
      followed.isUsed = false
      // It is behind, which needs no warning.
      if (position < this.#changes.from) followed.isMissed = false
      else if (++followed.strangeLooks > STRANGE_LOOKS) {
        this.#miss(
          followed,
          `it is at position ${position}, which the primary has never reported: it follows another primary, or none`,
        )
      }
    } catch (error) {
      this.#miss(followed, error)
    }
  }
}

function lately(before: number, now: number, weight: number = WEIGHT): number {
  return before + weight * (now - before)
}

/** The primary can answer this better than a replica. */
export class AskPrimary extends Error {
  override readonly name = 'AskPrimary'
}

class TooSlow extends Error {
  override readonly name = 'TooSlow'
}

function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooSlow(`no reply for ${Math.round(ms)} ms`)), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
