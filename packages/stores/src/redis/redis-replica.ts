/**
 * A replica of the Redis that a store is in, to be read from. Each answer is from one state (MULTI), and says of it which log it has and how far
 * it has come: whoever connects to a Redis that may have lost something gives the log a new id (`ATTACH_SCRIPT`), so a replica
 * of one that is gone, of another store, or an empty one is found out by each answer, and not only when it is connected to.
 *
 * It connects again when it is asked again.
 */
import type { Key, Position, Snapshot, StoredValue } from '@freshet/core/store'
import type { Replica } from '../replicas/replica-reads.js'
import { type Client, connectTo, endClient, type Reply, whereOf } from './client.js'
import { type Layout, parseHead } from './layout.js'
import { unusable } from './redis-errors.js'
import { SCAN_SCRIPT } from './upkeep-scripts.js'

export interface RedisReplicaOptions {
  readonly url: string
  readonly layout: Layout
  /** Of the primary, as it is connected to now; undefined while it is not. */
  readonly log: () => string | undefined
  /** Throws if it is none. */
  readonly readValue: (key: Key, record: Reply) => StoredValue | undefined
}

/** So long after a failed attempt to connect there is no other. */
const PAUSE_MS = 100

export class RedisReplica implements Replica {
  readonly place: string
  readonly #options: RedisReplicaOptions
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined
  #isClosed = false

  constructor(options: RedisReplicaOptions) {
    this.place = whereOf(options.url)
    this.#options = options
  }

  async reached(): Promise<Position> {
    return (await this.values([])).position
  }

  /** Those that are there. */
  async values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    const { layout, readValue } = this.#options
    const answer = await this.#inOneState(['MGET', layout.head, ...keys.map(key => layout.values + key)])
    const [head, ...records] = answer as readonly Reply[]
    const found = records.map((record, i) => [keys[i]!, readValue(keys[i]!, record)] as const)
    const there = found.filter((each): each is [Key, StoredValue] => each[1] !== undefined)
    return { value: new Map(there), position: positionIn(head!) }
  }

  /** As `SCAN_SCRIPT` answers. */
  page(bucket: Key, first: string | Buffer, last: string | Buffer, count: number): Promise<Reply> {
    return this.#inOneState(['EVAL', SCAN_SCRIPT, '1', this.#options.layout.head, bucket, first, last, `${count}`])
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    if (client) endClient(client)
  }

  async #inOneState(command: readonly (string | Buffer)[]): Promise<Reply> {
    const client = this.#client ?? (await this.#connected())
    const { layout, log } = this.#options
    // Sent together, so nothing else comes between.
    const [, , , answers] = await Promise.all([
      client.sendCommand(['MULTI']),
      client.sendCommand(['HGET', layout.meta, 'log']),
      client.sendCommand(command),
      client.sendCommand(['EXEC']),
    ])
    const [found, answer] = answers as [Buffer | null, Reply]
    if (found === null) throw unusable(this.place, 'it holds no store, or not yet')
    const wanted = log()
    if (wanted === undefined || String(found) !== wanted) {
      throw unusable(this.place, 'it holds another store, or an older state of this one. Give the address of a replica')
    }
    if (answer instanceof Error) throw answer
    return answer
  }

  #connected(): Promise<Client> {
    if (this.#isClosed) return Promise.reject(new Error('it is closed'))
    if (this.#failure && performance.now() < this.#failure.untilMs) return Promise.reject(this.#failure.error)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async #connect(): Promise<Client> {
    let client: Client | undefined
    const lose = () => {
      if (client !== undefined && this.#client === client) this.#client = undefined
      if (client !== undefined) endClient(client)
    }
    try {
      client = await connectTo(this.#options.url, { onEnd: lose })
      this.#failure = undefined
      this.#client = client
      return client
    } catch (error) {
      this.#failure = { error, untilMs: performance.now() + PAUSE_MS }
      throw error
    }
  }
}

function positionIn(head: Reply): Position {
  if (head === null) throw new Error('it has lost its head')
  return parseHead((head as Buffer).toString('latin1')).position
}
