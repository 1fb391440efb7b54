/**
 * Global writes: appended to the one log, and applied by every shard in the order of the log, exactly once each (venkateswaran
 * 3.5.3; there a MySQL server that the shards replicate from).
 *
 * Any server may append, and the server that appends also brings the shards up to date. What it does not finish, because a shard
 * is down or its process ends, is done by one of the servers: the one that holds a lock in the engine of the log. It does no harm
 * if two servers do it at once for a moment: a shard takes only the next write of the log, and records that in the same
 * transaction.
 *
 * Moves of rows are entries of the same log: `plan/plan-move.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { FreshetError, type GlobalAnswer, type GlobalStatus, type ShardStatus } from '@freshet/protocol'
import { describeError, type Log, type ServerSettings } from '@freshet/server/capabilities'
import type { ParsedWrite } from '../parse/parse-global.js'
import { shardNamed } from '../placement/placed-database.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import { type Appended, changedTables, type GlobalLog, type GlobalWrite, type Move, type Shard } from '../plan/index.js'

export interface ArbitratorOptions {
  readonly database: ShardedDatabase
  readonly settings: ServerSettings
  readonly log: Log
}

/** Whether a shard has a write, will have it, or still waits to be filled. */
type Reached = 'there' | 'behind' | 'waiting'

interface Operation {
  readonly id: string | undefined
  /** Equal for equal requests. */
  readonly fingerprint: string
}

const BATCH = 100
const MOVE_PAUSE_MS = 5
/** How often an append is tried, each time after another server appended first. */
const TRIES_MAX = 50
const LOOKS_BETWEEN = 20

export class Arbitrator {
  readonly #shards: readonly Shard[]
  readonly #globalLog: GlobalLog
  readonly #options: ArbitratorOptions
  readonly #underWay = new Map<Shard, Promise<number>>()
  /** The position that each shard had reached when it was last checked. */
  readonly #reached = new Map<Shard, number>()
  #looks = 0
  readonly #complaints = new Map<Shard | GlobalLog, string>()
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #appending: Promise<void> = Promise.resolve()
  #isLeading = false

  constructor(options: ArbitratorOptions) {
    this.#options = options
    this.#shards = options.database.shards
    this.#globalLog = options.database.log
  }

  start(): void {
    const { globalIntervalMs } = this.#options.settings
    this.#timer = setInterval(() => {
      // One at a time: with a shard that does not answer, a check takes longer than the interval.
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined
      })
    }, globalIntervalMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#looking) await within(this.#looking, this.#options.settings.globalWaitMsMax)
    await this.#globalLog.resign()
  }

  /** The write is accepted once it is in the log. Shards that could not apply it in time are named; they will apply it later. */
  async write(write: ParsedWrite, operation: Operation): Promise<GlobalAnswer> {
    const { position, aspects, isReplayed } = (await this.#find(operation)) ?? (await this.#append(write, operation))
    const versions = Object.fromEntries(aspects.map(aspect => [aspect, position]))
    return {
      position,
      ...(await this.settle(position)),
      versions,
      ...(isReplayed ? { replayed: true } : {}),
    }
  }

  /** Brings all shards up to this position, as far as possible in time. Shards that wait to be filled are left out. */
  async settle(position: number): Promise<Pick<GlobalAnswer, 'applied' | 'pending'>> {
    const { globalWaitMsMax } = this.#options.settings
    const reached = await Promise.all(this.#shards.map(shard => this.#reach(shard, position, globalWaitMsMax)))
    const namesOf = (is: Reached) => this.#shards.filter((_, i) => reached[i] === is).map(({ name }) => name)
    return { applied: namesOf('there'), pending: namesOf('behind') }
  }

  async status(): Promise<GlobalStatus> {
    const [head, ...states] = await Promise.all([
      this.#globalLog.head(),
      ...this.#shards.map(shard => this.#stateOf(shard)),
    ])
    return {
      position: head,
      isLeading: this.#isLeading,
      shards: states.map(state => ({
        ...state,
        ...(state.applied === undefined ? {} : { behind: head - state.applied }),
      })),
    }
  }

  /** Returns the position that the shard has reached. Throws SHARD_UNAVAILABLE, GLOBAL_REFUSED. */
  bringUpToDate(shard: Shard): Promise<number> {
    const known = this.#underWay.get(shard)
    if (known) return known
    const work = this.#bring(shard).finally(() => this.#underWay.delete(shard))
    this.#underWay.set(shard, work)
    return work
  }

  /** A write that was done before must not be rehearsed: it may not be possible twice. */
  async #find({ id, fingerprint }: Operation): Promise<Appended | undefined> {
    return id === undefined ? undefined : this.#globalLog.find({ id, fingerprint })
  }

  /** One at a time: otherwise the writes of one server would overtake each other. */
  #append(write: ParsedWrite, operation: Operation): Promise<Appended> {
    const work = this.#appending.then(() => this.#appendRehearsed(write, operation))
    this.#appending = work.then(
      () => undefined,
      () => undefined,
    )
    return work
  }

  /** Appends the write directly after the position it was rehearsed at: a write in between might make it impossible. */
  async #appendRehearsed(write: ParsedWrite, operation: Operation): Promise<Appended> {
    for (let tries = 1; ; tries++) {
      const head = await this.#globalLog.head()
      const { text, values, isSchemaChange } = write
      const aspects = await this.#rehearse(write, head)
      try {
        return await this.#globalLog.append({ text, values, isSchemaChange, aspects }, { ...operation, after: head })
      } catch (error) {
        if (!hasCode(error, 'SHARDS_UNSETTLED') || tries === TRIES_MAX) throw error
        await delay(MOVE_PAUSE_MS * tries * Math.random())
      }
    }
  }

  /**
   * Rehearses on the shards that answer and have reached the head: a write that one of them must refuse would block all that
   * follow. Returns the tables that the write changes on any of them.
   */
  async #rehearse(write: ParsedWrite, head: number): Promise<readonly string[]> {
    const outcomes = await Promise.allSettled(this.#shards.map(shard => this.#rehearseOn(shard, write, head)))
    const failures = outcomes.flatMap(outcome => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []))
    const refusal = failures.find(error => !hasCode(error, 'SHARD_UNAVAILABLE'))
    if (refusal !== undefined) throw refusal
    const changed = outcomes.flatMap(outcome => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []))
    if (changed.length === 0) throw failures[0] ?? nowhereRehearsed(head)
    return [...new Set(changed)]
  }

  /** Undefined if the shard cannot rehearse the write now. */
  async #rehearseOn(shard: Shard, write: ParsedWrite, head: number): Promise<readonly string[] | undefined> {
    const { settings, database } = this.#options
    const { applied, isWaiting } = await shard.state()
    if (isWaiting) return undefined
    if (applied < head && (await this.#reach(shard, head, settings.globalWaitMsMax)) !== 'there') return undefined
    const { change, aspects } = write
    const changed = change ? changedTables(change, await shard.effects(), database.map) : aspects
    await shard.rehearse(write, settings.globalMsMax)
    return changed
  }

  async #reach(shard: Shard, position: number, waitMs: number): Promise<Reached> {
    const deadlineMs = performance.now() + waitMs
    try {
      while (performance.now() < deadlineMs) {
        const reached = await within(this.bringUpToDate(shard), deadlineMs - performance.now())
        if (reached === undefined) return 'behind'
        if (reached >= position) return 'there'
        if (reached < 0) return 'waiting'
        await delay(MOVE_PAUSE_MS)
      }
    } catch (error) {
      this.#options.log.write('error', 'a shard has not applied a global write', {
        shard: shard.name,
        position,
        ...describeError(error),
      })
    }
    return 'behind'
  }

  async #bring(shard: Shard): Promise<number> {
    const { globalMsMax } = this.#options.settings
    let { applied, isWaiting } = await shard.state()
    if (isWaiting) return applied
    for (;;) {
      const writes: readonly GlobalWrite[] = await this.#globalLog.writesAfter(applied, BATCH)
      if (writes.length === 0) return applied
      for (const write of writes) {
        // Another server was faster, or the write must wait for another shard: read the position again.
        const isDone = write.move
          ? await this.#applyMove(shard, write, write.move)
          : await shard.apply(write, globalMsMax)
        if (!isDone) return (await shard.state()).applied
        applied = write.position
      }
    }
  }

  /** The rows are taken before they are given away: until then the shard that has them waits. */
  async #applyMove(shard: Shard, write: GlobalWrite, move: Move): Promise<boolean> {
    const { settings, database } = this.#options
    const { globalMsMax: timeoutMs } = settings
    const { sharded } = database.map
    if (shard.name === move.to) {
      const source = shardNamed(this.#shards, move.from)
      const { applied, tables } = await source.copy({ tables: sharded, range: move, timeoutMs })
      if (applied === write.position - 1) return shard.applyMove(write, { kind: 'take', rows: tables }, timeoutMs)
      // If the source is behind, it is brought up first. If it is past the write, another server was faster.
      if (applied < write.position) await this.bringUpToDate(source)
      return false
    }
    if (shard.name !== move.from) return shard.applyMove(write, { kind: 'note' }, timeoutMs)
    const target = shardNamed(this.#shards, move.to)
    if (await target.hasDurably(write.position))
      return shard.applyMove(write, { kind: 'give', tables: sharded }, timeoutMs)
    // Not waited for: the target may wait for this shard.
    this.bringUpToDate(target).catch(() => undefined)
    return false
  }

  async #look(): Promise<void> {
    try {
      this.#isLeading = await this.#globalLog.lead()
      if (this.#isLeading) await this.#lookAtLate(await this.#globalLog.head())
      this.#complaints.delete(this.#globalLog)
    } catch (error) {
      this.#isLeading = false
      this.#complain(this.#globalLog, 'the log of global writes cannot be read', error)
    }
  }

  async #lookAtLate(head: number): Promise<void> {
    // Now and then all shards are checked: one may have been restored from a copy.
    if (this.#looks++ % LOOKS_BETWEEN === 0) this.#reached.clear()
    const late = this.#shards.filter(shard => (this.#reached.get(shard) ?? -1) < head)
    await Promise.all(late.map(shard => this.#lookAt(shard, head)))
  }

  async #lookAt(shard: Shard, head: number): Promise<void> {
    try {
      const { applied, isWaiting } = await shard.state()
      if (!isWaiting) this.#reached.set(shard, applied < head ? await this.bringUpToDate(shard) : applied)
      this.#complaints.delete(shard)
    } catch (error) {
      this.#complain(shard, 'a shard cannot be brought up to date', error)
    }
  }

  /** Logs a problem once, not at every check: there are several checks a second. */
  #complain(about: Shard | GlobalLog, message: string, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error)
    if (this.#complaints.get(about) === text) return
    this.#complaints.set(about, text)
    const fields = { ...('name' in about ? { shard: about.name } : {}), ...describeError(error) }
    this.#options.log.write('error', message, fields)
  }

  async #stateOf(shard: Shard): Promise<ShardStatus> {
    try {
      const { applied, obstacle, isWaiting } = await shard.state()
      if (isWaiting) return { name: shard.name, isWaiting }
      return { name: shard.name, applied, ...(obstacle === undefined ? {} : { obstacle }) }
    } catch (error) {
      return { name: shard.name, error: error instanceof Error ? error.message : String(error) }
    }
  }
}

function hasCode(error: unknown, code: FreshetError['code']): boolean {
  return error instanceof FreshetError && error.code === code
}

function nowhereRehearsed(head: number): FreshetError {
  return new FreshetError(
    'SHARDS_UNSETTLED',
    `No shard has applied the ${head} global writes of the log, so this one cannot be tried. ` +
      'Nothing was done; GET /global shows why.',
    { details: { position: head, retryAfterS: 1 } },
  )
}

/** Undefined if the work takes longer; it continues nevertheless. */
async function within<Result>(work: Promise<Result>, waitMs: number): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), waitMs)
  })
  work.catch(() => undefined)
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
