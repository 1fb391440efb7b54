/**
 * Requests to a server: one that runs elsewhere, or an internal one over a store, behind a socket in a folder that no other
 * account can open. So the same checks apply to what is imported into a store as to what clients send.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { Agent, createServer, type IncomingHttpHeaders, request as requestHttp } from 'node:http'
import { request as requestHttps, Agent as SecureAgent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { FreshetError, fromProblem } from '@freshet/protocol'
import { createFreshetServer } from '@freshet/server'
import type { ServerSettings } from '@freshet/server/configuration'
import { LINE_BYTES_MAX } from './line-reader.js'

export interface ServerAnswer {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Sent {
  readonly method?: 'GET' | 'PUT' | 'POST'
  /** JSON. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Everything that a server has accepted must be importable, whatever its limits were: as much as a line may hold. */
const LIMITS: Partial<ServerSettings> = {
  bodyBytesMax: LINE_BYTES_MAX,
  commitBodyBytesMax: 2 * LINE_BYTES_MAX,
  jsonDepthMax: 1000,
  jsonMembersMax: Number.MAX_SAFE_INTEGER,
  lifetimeMsMax: Number.MAX_SAFE_INTEGER,
  bucketsMax: Number.MAX_SAFE_INTEGER,
}

/** How long a request is retried if there is no answer, or one that asks to retry later. */
const RETRY_MS_MAX = 30_000
const PAUSE_MS = 200
const COME_BACK: readonly number[] = [429, 502, 503, 504]

export class ServerCalls {
  readonly #url: string
  readonly #socketPath: string | undefined
  readonly #agent: Agent
  readonly #end: () => Promise<void>

  private constructor(url: string, socketPath: string | undefined, end: () => Promise<void>) {
    this.#url = url
    this.#socketPath = socketPath
    this.#agent = url.startsWith('https:') ? new SecureAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
    this.#end = end
  }

  static to(url: string): ServerCalls {
    return new ServerCalls(url, undefined, async () => undefined)
  }

  /** Closing these calls closes the store, too. */
  static async over(store: Store): Promise<ServerCalls> {
    const folder = await mkdtemp(join(tmpdir(), 'freshet-'))
    // Only the user of this command can reach it, so it ignores the rules in the store, which stay for everyone else.
    const freshet = createFreshetServer({ store, settings: LIMITS, storedRules: 'ignore' })
    const server = createServer((request, response) => freshet.handle(request, response))
    server.keepAliveTimeout = RETRY_MS_MAX
    const socketPath = join(folder, 'socket')
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socketPath, resolve))
    await chmod(socketPath, 0o600)
    return new ServerCalls('http://localhost', socketPath, async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
      await freshet.close()
      await store.close()
      await rm(folder, { recursive: true, force: true })
    })
  }

  /**
   * A request may be sent twice, so it must do no harm if it is done twice. Throws the server's error, REQUEST_FAILED,
   * ANSWER_INVALID.
   */
  async call(target: string, sent: Sent = {}): Promise<ServerAnswer> {
    const deadlineMs = performance.now() + RETRY_MS_MAX
    for (let pauseMs = PAUSE_MS; ; pauseMs *= 2) {
      try {
        return await this.#once(target, sent)
      } catch (error) {
        const { code, details } = error as FreshetError
        const isPassing = code === 'REQUEST_FAILED' || COME_BACK.includes(details?.status as number)
        if (!isPassing || performance.now() + pauseMs > deadlineMs) throw error
        await delay(pauseMs)
      }
    }
  }

  async json<Body>(target: string, sent?: Sent): Promise<Body> {
    return JSON.parse((await this.call(target, sent)).text) as Body
  }

  async close(): Promise<void> {
    this.#agent.destroy()
    await this.#end()
  }

  async #once(target: string, sent: Sent): Promise<ServerAnswer> {
    const { status, headers, text } = await this.#send(target, sent)
    const name = `${sent.method ?? 'GET'} ${this.#url}${target.slice(0, 100)}`
    if (!/^application\/(problem\+)?json/.test(headers['content-type'] ?? '')) throw notOurs(name, status)
    if (status < 400) return { headers, text }
    const error = fromProblem(JSON.parse(text))
    if (error === undefined) throw notOurs(name, status)
    throw new FreshetError(error.code, error.message, { details: { ...error.details, status } })
  }

  async #send(target: string, { method = 'GET', body, headers = {} }: Sent) {
    const token = process.env.FRESHET_TOKEN
    const options = {
      method,
      agent: this.#agent,
      ...(this.#socketPath === undefined ? {} : { socketPath: this.#socketPath }),
      headers: {
        'cache-control': 'no-cache',
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` }),
        ...headers,
      },
    }
    const send = this.#url.startsWith('https:') ? requestHttps : requestHttp
    try {
      return await new Promise<{ status: number; headers: IncomingHttpHeaders; text: string }>((resolve, reject) => {
        const request = send(`${this.#url}${target}`, options, response => {
          const { statusCode = 0, headers } = response
          buffer(response).then(bytes => resolve({ status: statusCode, headers, text: bytes.toString() }), reject)
        })
        request.once('error', reject).end(body)
      })
    } catch (cause) {
      const { message } = cause as Error
      throw new FreshetError('REQUEST_FAILED', `${this.#url} did not answer: ${message}. Is the server running?`, {
        cause,
      })
    }
  }
}

function notOurs(name: string, status: number): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `${name} was answered with status ${status}, and not by a Freshet server. Check the address.`,
    { details: { status } },
  )
}
