/**
 * The driver, as it is used here: replies are bytes; no time-out for each command, which costs two thirds of the speed
 * (one for the whole connection is in redis-session.ts); and it never connects again by itself, since what must be asked first
 * after that is not the driver's to know.
 */
import { createHash } from 'node:crypto'
import { createClient, RESP_TYPES } from '@redis/client'
import { wordOf } from './redis-errors.js'

export type Reply = Buffer | number | null | readonly Reply[]
export type Argument = string | Buffer

export interface Client {
  /** Of those of one chain none is sent on a later connection than the others. */
  sendCommand(args: readonly Argument[], options?: { readonly chainId: symbol }): Promise<Reply>
  /** Resolves when what is under way has been answered. */
  close(): Promise<void>
  /** At once: whatever is under way fails. */
  destroy(): void
}

const CONNECT_MS_MAX = 5_000
const PAUSE_MS_MAX = 1_000

export interface ConnectOptions {
  /** The connection is lost, or was ended. */
  readonly onEnd?: (error: Error) => void
  /** By itself. What was on its way fails all the same. */
  readonly reconnects?: boolean
}

export async function connectTo(
  url: string,
  { onEnd = () => {}, reconnects = false }: ConnectOptions = {},
): Promise<Client> {
  const client = createClient({
    url,
    RESP: 2,
    name: 'freshet',
    disableOfflineQueue: true,
    socket: {
      connectTimeout: CONNECT_MS_MAX,
      reconnectStrategy: reconnects ? retries => Math.min(50 * retries, PAUSE_MS_MAX) : false,
    },
    commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  })
  client.on('error', onEnd)
  client.on('end', () => onEnd(new Error('Redis has closed the connection')))
  const connected = client as unknown as Client
  const connecting = client.connect()
  // One that is stopped takes connections, and says nothing.
  await (reconnects ? connecting : orEnd(connecting, () => endClient(connected)))
  return connected
}

/** Whoever has not answered in time is ended, and will not. */
export async function orEnd<Result>(asked: Promise<Result>, end: () => void): Promise<Result> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    end()
  }, CONNECT_MS_MAX)
  try {
    return await asked
  } catch (error) {
    throw isLate ? new Error(`Redis has not answered for ${CONNECT_MS_MAX} ms`, { cause: error }) : error
  } finally {
    clearTimeout(timer)
  }
}

/** Where that is, without what is secret. */
export function whereOf(url: string): string {
  return new URL(url).host
}

/** Whether or not it has ended already. */
export function endClient(client: Client): void {
  try {
    client.destroy()
  } catch {
    // That is how the driver says that it has.
  }
}

/** A script is known to Redis by its digest, once it has seen it. */
export class Script {
  readonly #text: string
  readonly #digest: string

  constructor(text: string) {
    this.#text = text
    this.#digest = createHash('sha1').update(text).digest('hex')
  }

  /** `more`: the other keys that it uses, where that must be said. */
  run(client: Client, key: string, args: readonly Argument[], more: readonly string[] = []): Promise<Reply> {
    const rest = [`${1 + more.length}`, key, ...more, ...args]
    return client.sendCommand(['EVALSHA', this.#digest, ...rest]).catch(error => {
      if (wordOf(error) !== 'NOSCRIPT') throw error
      return client.sendCommand(['EVAL', this.#text, ...rest])
    })
  }
}
