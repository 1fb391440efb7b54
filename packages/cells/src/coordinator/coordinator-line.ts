/**
 * Coordinators ask each other over HTTP. A coordinator's name is the address where it listens, with an id of its life after it
 * (`http://10.0.0.7:7801#4f2a`). The name is in the records of the keys that it holds, so no list of coordinators is needed.
 *
 * Coordinators also gossip about which of them are up (`health/gossip.ts`), so that none waits for a holder that another one
 * knows to be gone. They find each other by the names in the records.
 *
 * Requests carry the layout's secret, which is kept in the nodes: a client that can read the nodes may do all this anyway.
 */
import { randomUUID, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Key } from '@freshet/core/store'
import { FreshetError, fromProblem, PROBLEM_TYPE, toProblem } from '@freshet/protocol'
import {
  type Beat,
  GOSSIP_DEFAULTS,
  Gossip,
  type GossipOptions,
  type HealthOptions,
  NodeHealth,
} from '../health/index.js'
import { type CellValue, type Stamp, WRITE_LEVELS, type WriteLevel } from '../records/index.js'
import type { CellRead } from './cell-reads.js'
import type { CellWritten } from './cell-writes.js'
import type { Cells } from './cells.js'
import type { OtherCoordinators } from './other-coordinators.js'
import { readValue, type ValueText, valueText } from './record-text.js'

export interface ListenOptions {
  /** 127.0.0.1 unless given; it must be an address by which the other coordinators reach this one. */
  readonly host?: string
  /** A free one unless given. */
  readonly port?: number
  readonly gossip?: GossipOptions
}

type Question =
  | { readonly kind: 'last'; readonly key: Key; readonly epoch: number }
  | { readonly kind: 'read'; readonly key: Key }
  | { readonly kind: 'gossip'; readonly beats: readonly Beat[] }
  | { readonly kind: 'write'; readonly key: Key; readonly level: WriteLevel; readonly value: ValueText }

type ReadText = Omit<CellRead, 'value'> & { readonly value: ValueText }

const BODY_CHARACTERS_MAX = 32 * 1024 * 1024
/** The number of holders for which it is remembered whether they answer. */
const HOLDERS_MAX = 1000
const REFUSED = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH']
/** One failure is enough: the caller can wait for the holder's promise to run out instead. Gossip finds out when it is back. */
const SUSPECTING = { failuresMax: 1, probeMs: 500, probeMsMax: 5000 }
/** QUICK: for what the holder answers from memory. SLOW: for what it must ask nodes for. */
const QUICK: HealthOptions = { timeoutMsMin: 300, timeoutMsFirst: 1000, timeoutMsMax: 4000, ...SUSPECTING }
const SLOW: HealthOptions = { timeoutMsMin: 1000, timeoutMsFirst: 2000, timeoutMsMax: 10_000, ...SUSPECTING }

interface HolderHealth {
  readonly quick: NodeHealth
  readonly slow: NodeHealth
}

export class CoordinatorLine implements OtherCoordinators {
  /** The name of this life of this coordinator. */
  readonly self: string
  readonly #server: Server
  readonly #health = new Map<string, HolderHealth>()
  readonly #gossip: Gossip
  readonly #gossiping: NodeJS.Timeout
  #secret = ''
  #cells: Cells | undefined

  private constructor(server: Server, self: string, options: GossipOptions) {
    this.#server = server
    this.self = self
    this.#gossip = new Gossip(self, options)
    this.#gossiping = setInterval(() => void this.#gossipOnce(), options.everyMs).unref()
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async open({
    host = '127.0.0.1',
    port = 0,
    gossip = GOSSIP_DEFAULTS,
  }: ListenOptions): Promise<CoordinatorLine> {
    const server = createServer()
    server.listen(port, host)
    await once(server, 'listening')
    // An open server does not keep the process alive if the caller forgets to close it.
    server.unref()
    const address = server.address() as AddressInfo
    const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address
    return new CoordinatorLine(server, `http://${shown}:${address.port}#${randomUUID()}`, gossip)
  }

  /** From now on this coordinator answers for these cells. */
  serve(cells: Cells, secret: string): void {
    this.#cells = cells
    this.#secret = secret
  }

  async close(): Promise<void> {
    clearInterval(this.#gossiping)
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  canAsk(holder: string): boolean {
    if (!holder.startsWith('http')) return false
    const nowMs = performance.now()
    this.#gossip.meet(holder, nowMs)
    const { quick, slow } = this.#health.get(holder) ?? {}
    return !(this.#gossip.isSuspected(holder, nowMs) || quick?.isSuspected === true || slow?.isSuspected === true)
  }

  /** The others, as far as they are known. */
  coordinators(): readonly { readonly name: string; readonly isSuspected: boolean }[] {
    return this.#gossip.members(performance.now())
  }

  last(holder: string, key: Key, epoch: number): Promise<Stamp | undefined> {
    return this.#ask(holder, { kind: 'last', key, epoch })
  }

  async read(holder: string, key: Key): Promise<CellRead | undefined> {
    const read = await this.#ask<ReadText>(holder, { kind: 'read', key })
    return read && { ...read, value: readValue(read.value) }
  }

  write(holder: string, key: Key, value: CellValue | undefined, level: WriteLevel): Promise<CellWritten | undefined> {
    return this.#ask(holder, { kind: 'write', key, level, value: value === undefined ? {} : valueText(value) })
  }

  async #gossipOnce(): Promise<void> {
    const next = this.#gossip.tick(performance.now(), Math.random())
    if (next === undefined || this.#cells === undefined) return
    try {
      const beats = await this.#ask<readonly Beat[]>(next.to, { kind: 'gossip', beats: next.beats })
      if (beats !== undefined) this.#gossip.receive(beats, performance.now())
    } catch {
      // A coordinator that does not answer sends no beats; its growing silence is what makes it suspected.
    }
  }

  async #ask<Answer>(holder: string, question: Question): Promise<Answer | undefined> {
    const health = this.#healthOf(holder)
    const own = question.kind === 'read' || question.kind === 'write' ? health.slow : health.quick
    const askedMs = performance.now()
    const [url] = holder.split('#') as [string]
    try {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify({ holder, question }),
        headers: { authorization: `Bearer ${this.#secret}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(own.timeoutMs),
      })
      const answer = (await response.json()) as { readonly answer?: Answer }
      own.answered(performance.now() - askedMs)
      // An answer to a request of one kind shows that the holder is up for the other.
      for (const each of [health.quick, health.slow]) each.trusted()
      if (response.ok) return answer.answer
      throw fromProblem(answer) ?? unanswered(holder, 'unknown', `it answered ${response.status}`)
    } catch (error) {
      if (error instanceof FreshetError) throw error
      own.failed(performance.now())
      const code = (error as { cause?: { code?: string } }).cause?.code ?? ''
      throw unanswered(holder, REFUSED.includes(code) ? 'not-done' : 'unknown', code || String(error))
    }
  }

  #healthOf(holder: string): HolderHealth {
    const health = this.#health.get(holder) ?? { quick: new NodeHealth(QUICK), slow: new NodeHealth(SLOW) }
    this.#health.set(holder, health)
    const oldest = this.#health.size > HOLDERS_MAX ? this.#health.keys().next().value : undefined
    if (oldest !== undefined) this.#health.delete(oldest)
    return health
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.#isTrusted(request.headers.authorization))
        throw new FreshetError('FORBIDDEN', 'The request does not carry the secret of this ring.')
      const length = Number(request.headers['content-length'] ?? Number.NaN)
      if (!(length <= BODY_CHARACTERS_MAX))
        throw new FreshetError('BODY_TOO_LARGE', `A request needs a Content-Length of at most ${BODY_CHARACTERS_MAX}.`)
      const { holder, question } = JSON.parse(await text(request)) as { holder: string; question: Question }
      const answer = holder === this.self ? await this.#answerTo(question) : undefined
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ answer }))
    } catch (error) {
      const known = error instanceof FreshetError ? error : unanswered(this.self, 'unknown', String(error))
      const problem = toProblem(known)
      response.writeHead(problem.status, { 'content-type': PROBLEM_TYPE }).end(JSON.stringify(problem))
    }
  }

  async #answerTo(question: Question): Promise<unknown> {
    const cells = this.#cells!
    if (question.kind === 'gossip') {
      this.#gossip.receive(question.beats, performance.now())
      return this.#gossip.beats()
    }
    if (question.kind === 'last') return cells.lastHere(question.key, question.epoch)
    if (question.kind === 'write') {
      if (!WRITE_LEVELS.includes(question.level))
        throw new FreshetError('PARAMETER_INVALID', `The level must be one of ${WRITE_LEVELS.join(', ')}.`)
      return cells.writeHere(question.key, readValue(question.value), question.level)
    }
    const read = await cells.readHere(question.key)
    return read && { ...read, value: read.value === undefined ? {} : valueText(read.value) }
  }

  #isTrusted(authorization: string | undefined): boolean {
    const [given, wanted] = [Buffer.from(authorization ?? ''), Buffer.from(`Bearer ${this.#secret}`)]
    return this.#cells !== undefined && given.length === wanted.length && timingSafeEqual(given, wanted)
  }
}

function unanswered(holder: string, outcome: 'not-done' | 'unknown', why: string): FreshetError {
  return new FreshetError('RING_UNAVAILABLE', `The request to coordinator ${holder} failed: ${why}. Try again.`, {
    details: { outcome },
  })
}
