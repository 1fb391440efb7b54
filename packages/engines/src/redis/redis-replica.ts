/**
 * A replica of the store's Redis, to read from. Each answer is from one state (MULTI), with the id of the log in that state. A
 * server that connects to a Redis that may have lost something gives the log a new id (`ATTACH_SCRIPT`). So each answer, and
 * not only connecting, shows whether the replica follows a Redis that is gone, holds another store, or is empty.
 *
 * It connects again when it is asked again.
 */
import type { Key, Snapshot, StoredValue } from '@freshet/core/store'
import type { Subject, View } from '@freshet/store/engine'
import type { RemoteReplica } from '@freshet/store/reads'
import { type Argument, type Client, connectTo, endClient, type Reply, type Script, whereOf } from './client.js'
import type { KnownIndexes } from './declared-indexes.js'
import type { Layout } from './layout.js'
import { type RedisReader, readValues } from './read-state.js'
import { unusable } from './redis-errors.js'
import { RedisViews } from './redis-views.js'

export interface RedisReplicaOptions {
  readonly url: string
  readonly layout: Layout
  readonly known: KnownIndexes
  /** The log of the primary that the server is connected to; undefined while it is not connected. */
  readonly log: () => string | undefined
}

/** How long to wait after a failed attempt to connect. */
const PAUSE_MS = 100

export class RedisReplica implements RemoteReplica, RedisReader {
  readonly place: string
  readonly #options: RedisReplicaOptions
  readonly #views: RedisViews
  #client: Client | undefined
  #connecting: Promise<Client> | undefined
  #failure: { readonly error: unknown; readonly untilMs: number } | undefined
  #isClosed = false

  constructor(options: RedisReplicaOptions) {
    this.place = whereOf(options.url)
    this.#options = options
    this.#views = new RedisViews({ reader: this, known: options.known, learns: false })
  }

  get layout(): Layout {
    return this.#options.layout
  }

  values(keys: readonly Key[]): Promise<Snapshot<ReadonlyMap<Key, StoredValue>>> {
    return readValues(this, keys)
  }

  inOneState<Result>(subject: Subject, read: (view: View) => Promise<Result>): Promise<Result> {
    return this.#views.inOneState(subject, read)
  }

  run(script: Script, args: readonly Argument[]): Promise<Reply> {
    return this.command(['EVAL', script.text, '1', this.layout.head, ...args])
  }

  /** A command that only reads. */
  async command(args: readonly Argument[]): Promise<Reply> {
    const client = this.#client ?? (await this.#connected())
    const { layout, log } = this.#options
    // Sent together, so nothing else comes between.
    const [, , , answers] = await Promise.all([
      client.sendCommand(['MULTI']),
      client.sendCommand(['HGET', layout.meta, 'log']),
      client.sendCommand(args),
      client.sendCommand(['EXEC']),
    ])
    const [found, answer] = answers as [Buffer | null, Reply]
    if (found === null) throw unusable(this.place, 'it holds no store, or has not received it yet')
    const wanted = log()
    if (wanted === undefined || String(found) !== wanted) {
      throw unusable(this.place, 'it holds another store, or an older state of this one. Give the address of a replica')
    }
    if (answer instanceof Error) throw answer
    return answer
  }

  /** Only positions that the primary has reported count. */
  reached(): void {}

  gone(): Error {
    return new Error('the head of the store is gone')
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    if (client) endClient(client)
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
