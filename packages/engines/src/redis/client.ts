/**
 * The driver, as it is set up here. Replies are bytes. Commands have no time-out of their own, since that would cost two thirds
 * of the speed; redis-session.ts has one for the whole connection. For a store the driver never reconnects by itself: it does
 * not know what to ask first.
 */
import { createHash } from 'node:crypto'
import { createClient, RESP_TYPES } from '@redis/client'
import { wordOf } from './redis-errors.js'

export type Reply = Buffer | number | null | readonly Reply[]
export type Argument = string | Buffer

export interface Client {
  /** All commands of one chain are sent on the same connection. */
  sendCommand(args: readonly Argument[], options?: { readonly chainId: symbol }): Promise<Reply>
  /** Resolves when all pending commands have been answered. */
  close(): Promise<void>
  /** Ends the connection at once: pending commands fail. */
  destroy(): void
}

const CONNECT_MS_MAX = 5_000
const PAUSE_MS_MAX = 1_000

export interface ConnectOptions {
  /** Called when the connection is lost, or was ended. */
  readonly onEnd?: (error: Error) => void
  /** The driver reconnects by itself. Commands that were sent still fail. */
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
  // A Redis process that is stopped still accepts connections, and does not answer.
  await (reconnects ? connecting : orEnd(connecting, () => endClient(connected)))
  return connected
}

/** Calls `end` if there is no answer in time. */
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

/** The host and port of an address, without the password. */
export function whereOf(url: string): string {
  return new URL(url).host
}

/** Ends the connection; it may have ended already. */
export function endClient(client: Client): void {
  try {
    client.destroy()
  } catch {
    // The driver throws if it has ended.
  }
}

/** A script. Redis knows it by its digest once it has run it. */
export class Script {
  readonly text: string
  readonly #digest: string

  constructor(text: string) {
    this.text = text
    this.#digest = createHash('sha1').update(text).digest('hex')
  }

  /** `more`: the other keys that the script uses, where they must be declared. */
  run(client: Client, key: string, args: readonly Argument[], more: readonly string[] = []): Promise<Reply> {
    const rest = [`${1 + more.length}`, key, ...more, ...args]
    return client.sendCommand(['EVALSHA', this.#digest, ...rest]).catch(error => {
      if (wordOf(error) !== 'NOSCRIPT') throw error
      return client.sendCommand(['EVAL', this.text, ...rest])
    })
  }
}
