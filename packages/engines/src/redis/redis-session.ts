/**
 * The connections to Redis, as long as the store is open: one for commands, one that waits for commits. When one is lost, both
 * are made again, and nothing is sent before the session knows which Redis this is and what it holds (`ATTACH_SCRIPT`).
 *
 * When a connection is lost, the session sends unanswered commands again if that does no harm. If a command that writes is not
 * answered in time, or must not be sent again, it fails with the outcome `unknown`.
 * The session reads the clock several times a second, and so notices that Redis does not answer: one time-out for all commands.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { LogPlace, Position, StoreSupports } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { knownFrom, storeClosed } from '@freshet/store/engine'
import { type AttachOptions, type Line, openLine } from './attach.js'
import { type Client, endClient, type Reply, Script } from './client.js'
import { parseHead } from './layout.js'
import { isPassing, type Outcome, refusalOf, unavailable, wordOf } from './redis-errors.js'
import { AGAIN_SCRIPT, CLOCK_SCRIPT } from './upkeep-scripts.js'

export interface SessionOptions extends AttachOptions {
  /** If Redis is silent for longer, the session connects again. */
  readonly answerMsMax: number
  /** How long a call waits for Redis to come back. */
  readonly patienceMs: number
  /** The log and position that an earlier process knew. */
  readonly recalled: LogPlace | undefined
  onWarning(warning: string): void
  onPosition(position: Position): void
  /** Called after each connection, before anything else is reported. */
  onLog(log: string): void
}

/** A command only reads; writes, and may be sent again; or writes, and may be sent once. */
export type Effect = 'reads' | 'repeatable' | 'once'

const MEET_EVERY_MS = 250
/** How long a commit may take. With the time between two meetings of the clocks, that adds up to a second. */
const LATE_MS = 750
const BLOCK_MS = 2_000
const REST_MS = 2
const PAUSE_MS_MAX = 1_000
const NEVER_SENT = ['ClientClosedError', 'ClientOfflineError']

const clockScript = new Script(CLOCK_SCRIPT)
const againScript = new Script(AGAIN_SCRIPT)

export class RedisSession {
  readonly where: string
  readonly durability: StoreSupports['durability']
  /** The log that was found when the session was opened. */
  readonly log: string
  /** The furthest position that is known. */
  position: Position
  readonly #options: SessionOptions
  readonly #warned = new Set<string>()
  #line: Line | undefined
  #knownLog: string
  #reconnecting: Promise<void> | undefined
  #lastError: unknown
  /** Wake the calls that wait for a connection. */
  readonly #waiting = new Set<() => void>()
  /** When the last meeting of the clocks that was not late began. */
  #metMs: number
  #underWay = 0
  #turn: object | undefined
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  static async open(options: SessionOptions): Promise<RedisSession> {
    const where = options.addresses.place
    let session: RedisSession | undefined
    let line: Line | undefined
    try {
      line = await openLine(options, knownFrom(options.recalled), error => session?.drop(line, error))
      session = new RedisSession(options, where, line)
      return session
    } catch (error) {
      throw explain(where, error, 'not-done')
    }
  }

  private constructor(options: SessionOptions, where: string, line: Line) {
    this.#options = options
    this.where = where
    this.durability = line.settings.durability
    this.log = line.log
    this.#knownLog = line.log
    this.position = line.position
    this.#metMs = options.clock.nowMs()
    this.#use(line)
  }

  /** In a cluster, scripts that write must declare all their keys: a slot may be moving to another node, key by key. */
  get isCluster(): boolean {
    return this.#line?.settings.isCluster ?? false
  }

  /** The log of the Redis that it is connected to; undefined while it is not. */
  get currentLog(): string | undefined {
    return this.#line?.log
  }

  get isClosed(): boolean {
    return this.#closing !== undefined
  }

  /**
   * The same object for all commands that are sent together: the driver writes at the end of a turn of the event loop, and this
   * ends just before. So two callers that need the same answer in one turn may share it: Redis is asked after both.
   */
  get turn(): object {
    this.#turn ??= this.#beginTurn()
    return this.#turn
  }

  /** Sends commands, again if need be. Throws STORE_UNAVAILABLE, and the errors that Redis returns. */
  async run(effect: Effect, send: (client: Client) => Promise<Reply>): Promise<Reply> {
    if (this.#closing !== undefined) throw storeClosed(this.where)
    this.#underWay++
    try {
      let outcome: Outcome = 'not-done'
      for (let deadlineMs = 0; ; ) {
        const line = this.#line ?? (await this.#connected(outcome))
        try {
          this.#turn ??= this.#beginTurn()
          return await send(line.client)
        } catch (error) {
          // From now on Redis may have carried it out, whatever happens when it is sent again.
          if (effect !== 'reads' && wasOnItsWay(error)) outcome = 'unknown'
          if (deadlineMs === 0) deadlineMs = performance.now() + this.#options.patienceMs
          this.#consider(error, line, outcome)
          const isOver = performance.now() > deadlineMs || (effect === 'once' && outcome === 'unknown')
          if (isOver) throw unavailable(this.where, outcome, error)
          await delay(MEET_EVERY_MS / 10)
        }
      }
    } finally {
      this.#underWay--
      if (this.#underWay === 0) this.#onIdle?.()
    }
  }

  /** Redis was emptied or restored from a copy: connects again. */
  startOver(): void {
    if (this.#line) this.drop(this.#line, new Error('Redis was emptied'))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  drop(line: Line | undefined, error: unknown): void {
    if (line === undefined || this.#line !== line) return
    this.#line = undefined
    this.#lastError = error
    endClient(line.follower)
    // A Redis that has answered with an error answers the other commands as well, so their outcome need not be unknown.
    if (wordOf(error) === undefined) endClient(line.client)
    else endSoon(line.client, this.#options.answerMsMax)
    if (!this.isClosed || this.#underWay > 0) this.#reconnecting = this.#reconnect()
  }

  /** Called before anything is sent in this turn, so it ends before the driver writes. */
  #beginTurn(): object {
    setImmediate(() => {
      this.#turn = undefined
    })
    return {}
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
    }
    const line = this.#line
    this.#line = undefined
    if (line) end(line)
    await this.#reconnecting
  }

  /** Returns if the command may be tried again; otherwise throws. */
  #consider(error: unknown, line: Line, outcome: Outcome): void {
    if (isFinal(error)) throw explain(this.where, error, outcome)
    if (wordOf(error) !== 'BUSY') this.drop(line, error)
  }

  async #connected(outcome: Outcome): Promise<Line> {
    const { patienceMs } = this.#options
    const deadlineMs = performance.now() + patienceMs
    while (this.#line === undefined) {
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0) throw explain(this.where, this.#lastError, outcome)
      await new Promise<void>(resolve => {
        const wake = () => {
          clearTimeout(timer)
          this.#waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, leftMs)
        this.#waiting.add(wake)
      })
    }
    return this.#line
  }

  async #reconnect(): Promise<void> {
    for (
      let pauseMs = 10;
      this.#line === undefined && this.#isWanted();
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)
    ) {
      let line: Line | undefined
      try {
        const known = { log: this.#knownLog, position: this.position }
        line = await openLine(this.#options, known, error => this.drop(line, error))
        if (!this.#isWanted()) return end(line)
        if (this.#options.clock.nowMs() - this.#metMs > MEET_EVERY_MS + LATE_MS) await this.#appendAgain(line)
        this.#use(line)
      } catch (error) {
        this.#lastError = error
        await delay(pauseMs)
      }
    }
  }

  #isWanted(): boolean {
    return !this.isClosed || this.#underWay > 0
  }

  #use(line: Line): void {
    this.#line = line
    this.#knownLog = line.log
    for (const warning of line.settings.warnings) {
      if (this.#warned.has(warning)) continue
      this.#warned.add(warning)
      this.#options.onWarning(warning)
    }
    this.#options.onLog(line.log)
    this.#reached(line.position)
    this.#watch(line, this.#meetClocks(line))
    this.#watch(line, this.#follow(line))
    for (const wake of this.#waiting) wake()
  }

  #watch(line: Line, loop: Promise<void>): void {
    loop.catch(error => this.drop(line, error))
  }

  async #meetClocks(line: Line): Promise<void> {
    const { clock, layout } = this.#options
    while (this.#line === line) {
      const begunMs = clock.nowMs()
      const args = [clock.boot, `${clock.monotonicMs()}`, `${begunMs}`]
      this.#turn ??= this.#beginTurn()
      const reply = await this.#inTime(
        clockScript.run(line.client, layout.head, args, [layout.clocks]),
        this.#options.answerMsMax,
      )
      const [offset] = reply as readonly Buffer[]
      if (String(offset) === 'n') return this.startOver()
      clock.meet(Number(offset))
      if (clock.nowMs() - begunMs > LATE_MS) await this.#appendAgain(line)
      else this.#metMs = begunMs
      await delay(MEET_EVERY_MS, undefined, { ref: false })
    }
  }

  /** Commits that were made while Redis was slow, or away, may have become visible much later than their time says. */
  async #appendAgain({ client }: Pick<Line, 'client'>): Promise<void> {
    const { clock, layout, answerMsMax } = this.#options
    await this.#inTime(
      againScript.run(client, layout.head, [`${this.#metMs}`, `${clock.nowMs()}`], [layout.log]),
      answerMsMax,
    )
  }

  /** Reads the head right after the wait, on the same connection: so it includes all commits up to then. */
  async #follow(line: Line): Promise<void> {
    const { layout, answerMsMax } = this.#options
    const { follower } = line
    for (let { position } = line; this.#line === line; ) {
      const wait = ['XREAD', 'COUNT', '1', 'BLOCK', `${BLOCK_MS}`, 'STREAMS', layout.log, `${position}-0`]
      const asked = Promise.all([follower.sendCommand(wait), follower.sendCommand(['GET', layout.head])])
      const [, head] = await this.#inTime(asked, BLOCK_MS + answerMsMax)
      if (head === null) return this.startOver()
      const reached = parseHead(String(head)).position
      if (reached > position) {
        position = reached
        this.#reached(reached)
        // The first commit after a silence is reported at once; among many, not each one has to wake all listeners.
        await delay(REST_MS)
      }
    }
  }

  #reached(position: Position): void {
    this.position = Math.max(this.position, position)
    this.#options.onPosition(position)
  }

  async #inTime<T>(asked: Promise<T>, msMax: number): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`Redis has not answered for ${Math.ceil(msMax)} ms`)), msMax)
      timer.unref()
    })
    try {
      return await Promise.race([asked, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

function explain(where: string, error: unknown, outcome: Outcome): unknown {
  // An error now does not show whether an earlier attempt took effect.
  return isFinal(error) && outcome === 'not-done' ? refusalOf(where, error) : unavailable(where, outcome, error)
}

/** Redis would return the same error again, or the command was never meant to be sent. */
function isFinal(error: unknown): boolean {
  const word = wordOf(error)
  if (word !== undefined) return !isPassing(word)
  return error instanceof FreshetError || error instanceof TypeError
}

/** The connection was lost before it was answered. */
function wasOnItsWay(error: unknown): boolean {
  const isUnsent = error instanceof Error && NEVER_SENT.includes(error.constructor.name)
  return wordOf(error) === undefined && !isUnsent && !isFinal(error)
}

function end({ client, follower }: Line): void {
  endClient(client)
  endClient(follower)
}

/** Ends the connection when all pending commands have been answered. */
function endSoon(client: Client, msMax: number): void {
  const timer = setTimeout(() => endClient(client), msMax)
  client.close().then(
    () => clearTimeout(timer),
    () => endClient(client),
  )
}
