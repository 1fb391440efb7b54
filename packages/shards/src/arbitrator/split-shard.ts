/**
 * Gives a shard that was added the end of another shard's keys, while queries and global writes continue: `plan/plan-move.ts`.
 * Every decision is in the log. So a split can be killed at any point and started again, and any running server does what is in
 * the log already.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { FreshetError } from '@freshet/protocol'
import { completeSettings, type Log, type ServerSettings } from '@freshet/server/capabilities'
import { shardNamed } from '../placement/placed-database.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import {
  type Move,
  moveOf,
  type PlacedShard,
  placedShards,
  quoteName,
  SCHEMA_ASPECT,
  type Shard,
  type SplitWish,
  type Stretch,
  stretchLeft,
} from '../plan/index.js'
import { Arbitrator } from './arbitrator.js'

export interface SplitOptions {
  readonly database: ShardedDatabase
  readonly wish: SplitWish
  /** How many rows of a table move at a time; rows with the same key stay together. */
  readonly rowsMax: number
  readonly settings?: Partial<ServerSettings>
  readonly log: Log
  readonly onProgress: (progress: SplitProgress) => void
}

export interface SplitProgress {
  readonly rowsMoved: number
  /** How many rows were left to be moved when the split began. */
  readonly rows: number
  /** The first key that the new shard has now. */
  readonly from: number
}

/** As of a position of the log. */
interface StretchLeft {
  readonly head: number
  readonly placed: readonly PlacedShard[]
  /** Undefined if nothing is left to be moved. */
  readonly stretch: Stretch | undefined
}

const PAUSE_MS = 20

/**
 * Returns how many rows it has moved. Throws CONFIG_INVALID, GLOBAL_REFUSED, SHARD_DRIFT, SHARD_UNAVAILABLE, SHARD_UNUSABLE,
 * SHARDS_UNSETTLED.
 */
export async function splitShard(options: SplitOptions): Promise<SplitProgress> {
  return new ShardSplit(options).run()
}

class ShardSplit {
  readonly #options: SplitOptions
  readonly #arbitrator: Arbitrator
  readonly #timeoutMs: number

  constructor(options: SplitOptions) {
    this.#options = options
    const settings = completeSettings(options.settings ?? {})
    this.#timeoutMs = settings.globalMsMax
    this.#arbitrator = new Arbitrator({ database: options.database, settings, log: options.log })
  }

  async run(): Promise<SplitProgress> {
    const { wish, database } = this.#options
    const first = await this.#stretch()
    if (first.stretch) await this.#join(shardNamed(database.shards, first.stretch.source))
    const rows = first.stretch ? await this.#count(first.stretch) : 0
    for (let rowsMoved = 0; ; ) {
      const left = await this.#stretch()
      const from = left.placed.find(({ name }) => name === wish.name)?.from
      if (from !== undefined) this.#options.onProgress({ rowsMoved, rows, from })
      if (left.stretch === undefined) return { rowsMoved, rows, from: from! }
      rowsMoved += await this.#move(left)
    }
  }

  /** What is left to be moved once the shards have applied the whole log. */
  async #stretch(): Promise<StretchLeft> {
    const { database, wish } = this.#options
    const { log, map } = database
    const head = await log.head()
    const initial = placedShards(map)
    if (initial === undefined) {
      throw new FreshetError(
        'CONFIG_INVALID',
        'Rows are placed by the hash of their keys, so one more shard would move most of them. ' +
          'Only ranges can be split: docs/guides/shards.md.',
      )
    }
    const placed = (await log.placedAt(head)) ?? initial
    const { pending } = await this.#arbitrator.settle(head)
    if (pending.length > 0)
      throw new FreshetError(
        'SHARDS_UNSETTLED',
        `Nothing is moved while ${pending.join(', ')} cannot apply the log. ${await this.#obstacles(pending)} Then try again.`,
        { details: { pending } },
      )
    return { head, placed, stretch: stretchLeft(placed, wish) }
  }

  async #obstacles(names: readonly string[]): Promise<string> {
    const { shards } = await this.#arbitrator.status()
    const reasons = shards.filter(({ name }) => names.includes(name)).map(({ obstacle, error }) => obstacle ?? error)
    const known = reasons.filter(reason => reason !== undefined)
    return known.length > 0 ? known.join(' ') : 'GET /global shows how far they are.'
  }

  /** Rehearsed before the move is in the log: there, a move that a shard refuses would block all writes that follow. */
  async #rehearse(move: Move): Promise<void> {
    const { shards, map } = this.#options.database
    const [source, target] = [shardNamed(shards, move.from), shardNamed(shards, move.to)]
    const { tables } = await source.copy({ tables: map.sharded, range: move, timeoutMs: this.#timeoutMs })
    await target.rehearseMove(move, { kind: 'take', rows: tables }, this.#timeoutMs)
    await source.rehearseMove(move, { kind: 'give', tables: map.sharded }, this.#timeoutMs)
  }

  /** Moves at most `rowsMax` rows, from the end. Returns how many. */
  async #move(left: StretchLeft): Promise<number> {
    const planned = await this.#planMove(left)
    if (planned === undefined) return 0
    await this.#rehearse(planned.move)
    // A rehearsal takes long, and others write meanwhile. Their writes seldom make a move impossible; if one does, it is
    // reported.
    for (;;) {
      const current = await this.#stretch()
      const again = await this.#planMove(current)
      if (JSON.stringify(again?.move) !== JSON.stringify(planned.move)) return 0
      if (await this.#append(planned.move, current.head)) return planned.count
      await delay(PAUSE_MS * Math.random())
    }
  }

  async #planMove({ stretch, placed }: StretchLeft): Promise<{ move: Move; count: number } | undefined> {
    if (stretch === undefined) return undefined
    const low = await this.#lowOf(stretch)
    const count = await this.#count({ ...stretch, low })
    return { move: moveOf(placed, this.#options.wish, stretch, low), count }
  }

  /** False if another write was appended meanwhile: the places of rows must then be read again. */
  async #append(move: Move, head: number): Promise<boolean> {
    const write = { text: 'MOVE', values: [], aspects: [], isSchemaChange: true, move }
    try {
      await this.#options.database.log.append(write, { id: undefined, fingerprint: '', after: head })
      return true
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'SHARDS_UNSETTLED') return false
      throw error
    }
  }

  async #lowOf({ source, low, high }: Stretch): Promise<number> {
    const { database, rowsMax } = this.#options
    const shard = shardNamed(database.shards, source)
    const keys = await Promise.all(
      Object.entries(database.map.sharded).map(([table, key]) => shard.keyFromEnd(table, key, { low, high }, rowsMax)),
    )
    return Math.max(low, ...keys.filter(key => key !== undefined))
  }

  async #count({ source, low, high }: Stretch): Promise<number> {
    const { shards, map } = this.#options.database
    const shard = shardNamed(shards, source)
    const counts = await Promise.all(
      Object.entries(map.sharded).map(([table, key]) => {
        const column = quoteName(key, map.dialect)
        const end = high === null ? '' : ` AND ${column} < ${high}`
        return this.#countOf(shard, table, ` WHERE ${column} >= ${low}${end}`)
      }),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  async #countOf(shard: Shard, table: string, where: string): Promise<number> {
    const text = `SELECT COUNT(*) FROM ${quoteName(table, shard.dialect)}${where}`
    const { rows } = await shard.read({
      statement: { text, values: [] },
      tables: [table],
      timeoutMs: this.#timeoutMs,
    })
    return Number(rows[0]![0])
  }

  /** Fills the new shard with the tables that all shards have, in the state of one of them. From there on it follows the log. */
  async #join(source: Shard): Promise<void> {
    const { database, wish } = this.#options
    const target = shardNamed(database.shards, wish.name)
    const { global, sharded } = database.map
    while ((await target.state()).isWaiting) {
      const { versions } = await source.state()
      await this.#checkAlike(source, target)
      for (const table of Object.keys(sharded)) {
        if ((await this.#countOf(target, table, '')) > 0) throw notEmpty(wish.name, table)
      }
      const tables = Object.fromEntries(global.map(table => [table, undefined]))
      const copy = await source.copy({ tables, timeoutMs: this.#timeoutMs })
      const isSameSchema = copy.versions[SCHEMA_ASPECT] === versions[SCHEMA_ASPECT] && !copy.isChanging
      if (isSameSchema) await target.fill(copy, this.#timeoutMs)
    }
  }

  async #checkAlike(source: Shard, target: Shard): Promise<void> {
    const { global, sharded } = this.#options.database.map
    const [theirs, own] = await Promise.all([source.catalog(), target.catalog()])
    for (const table of [...Object.keys(sharded), ...global]) {
      if (JSON.stringify(own.tables.get(table)) === JSON.stringify(theirs.tables.get(table))) continue
      throw new FreshetError(
        'SHARD_DRIFT',
        `The table ${table} of ${target.name} is missing or differs from that of ${source.name}. ` +
          'First create the same tables: docs/guides/shards.md.',
        { details: { shard: target.name, table } },
      )
    }
  }
}

function notEmpty(shard: string, table: string): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    `The table ${table} of ${shard} has rows that no query reads. Empty it, or name another server.`,
  )
}
