/** Requests over persistent connections, a given number at once, each timed from its first byte to the last of its answer. */
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps, Agent as SecureAgent } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { FreshetError, fromProblem } from '@freshet/protocol'

export interface TimedRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface TimedAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  readonly tookMs: number
}

export interface Measurement {
  readonly requests: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
  /** Answers from a cache: those with an Age header. */
  readonly fromCache: number
}

export class TimedRequests {
  readonly #url: string
  readonly #agent: Agent | SecureAgent
  readonly #clients: number
  readonly #token: string | undefined

  constructor(url: string, clients: number, token: string | undefined) {
    this.#url = url
    this.#clients = clients
    this.#token = token
    const options = { keepAlive: true, maxSockets: clients }
    this.#agent = url.startsWith('https:') ? new SecureAgent(options) : new Agent(options)
  }

  /** Throws REQUEST_FAILED. */
  async send({ method, target, headers = {}, body }: TimedRequest): Promise<TimedAnswer> {
    const beganMs = performance.now()
    try {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const send = this.#url.startsWith('https:') ? requestHttps : requestHttp
        const all = {
          ...headers,
          ...(this.#token === undefined ? {} : { Authorization: `Bearer ${this.#token}` }),
          ...(body === undefined
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        }
        const request = send(this.#url + target, { method, agent: this.#agent, headers: all }, resolve)
        request.on('error', reject).end(body)
      })
      const received = await buffer(answer)
      const tookMs = performance.now() - beganMs
      return { status: answer.statusCode ?? 0, headers: answer.headers, body: received, tookMs }
    } catch (cause) {
      const what = `${method} ${this.#url}${target}`
      throw new FreshetError('REQUEST_FAILED', `${what} got no answer: ${(cause as Error).message}.`, { cause })
    }
  }

  /** Throws the server's error unless the status is one of these. */
  async expect(request: TimedRequest, statuses: readonly number[]): Promise<TimedAnswer> {
    const answer = await this.send(request)
    if (statuses.includes(answer.status)) return answer
    throw refusalOf(answer, `${request.method} ${this.#url}${request.target}`)
  }

  /** Sends the requests that `next` makes until the time is over. */
  async measure(
    next: () => TimedRequest,
    statuses: readonly number[],
    durationMs: number,
    signal: AbortSignal,
    onProgress: (requests: number, share: number) => void,
  ): Promise<Measurement> {
    const times: number[] = []
    let fromCache = 0
    const beganMs = performance.now()
    const worker = async () => {
      while (performance.now() - beganMs < durationMs) {
        signal.throwIfAborted()
        const { tookMs, headers } = await this.expect(next(), statuses)
        times.push(tookMs)
        if (headers.age !== undefined) fromCache++
        onProgress(times.length, Math.min(1, (performance.now() - beganMs) / durationMs))
      }
    }
    await Promise.all(Array.from({ length: this.#clients }, worker))
    return { ...summaryOf(times, performance.now() - beganMs), fromCache }
  }

  /** Sends each request once. */
  async all(
    requests: readonly TimedRequest[],
    statuses: readonly number[],
    signal: AbortSignal | undefined,
    onProgress: (done: number) => void = () => undefined,
  ): Promise<readonly TimedAnswer[]> {
    const answers: TimedAnswer[] = []
    let next = 0
    const worker = async () => {
      while (next < requests.length) {
        signal?.throwIfAborted()
        const i = next++
        answers[i] = await this.expect(requests[i]!, statuses)
        onProgress(next)
      }
    }
    await Promise.all(Array.from({ length: this.#clients }, worker))
    return answers
  }

  close(): void {
    this.#agent.destroy()
  }
}

export function summaryOf(times: readonly number[], tookMs: number): Omit<Measurement, 'fromCache'> {
  const sorted = [...times].sort((a, b) => a - b)
  // The nearest rank: a measured value, not one interpolated between two.
  const at = (share: number) => round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0)
  return {
    requests: sorted.length,
    perSecond: round((sorted.length * 1000) / tookMs),
    ...{ p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) },
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function refusalOf({ status, body }: TimedAnswer, what: string): FreshetError {
  try {
    const problem = fromProblem(JSON.parse(body.toString()))
    if (problem !== undefined) return problem
  } catch {
    // Reported below.
  }
  return new FreshetError(
    'ANSWER_INVALID',
    `${what} was answered with status ${status}, and not by a Freshet server. Check the address.`,
  )
}
