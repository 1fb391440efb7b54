/**
 * Writers that keep a record: what was acknowledged, under which version, and what was under way when the connection broke.
 * Compared with what a server says after a crash, the record shows whether a promise was broken.
 *
 * Each key belongs to one writer, so after a crash a key holds either the last acknowledged value or the value under way. A key
 * whose write stays under way (its worker died; the commit may or may not arrive) is not written again until the server has been
 * restarted.
 */
import { Agent, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { decodeSegmentBundle, formatSegmentRefs, parseSeed, Session } from '@freshet/core/coherence'
import type { CoherenceHead, CommitAnswer, ListPage, WriteAnswer } from '@freshet/protocol'

const BUCKET = '/db/kill/objects'
const GROUP_SIZE = 4

interface State {
  /** The number that was written; undefined for an absent object. */
  readonly number: number | undefined
  /** 0 if it was never written. */
  readonly version: number
}

/** One or several objects that are written together, or not at all. */
interface Unit {
  readonly ids: readonly string[]
  acknowledged: State
  /** The value of an unacknowledged write; null for none. */
  underWay: { readonly number: number | undefined } | null
}

export interface RecordedWritesOptions {
  readonly writers: number
  readonly random: () => number
}

export class RecordedWrites {
  readonly #random: () => number
  readonly #units: readonly (readonly Unit[])[]
  #agent = new Agent({ keepAlive: true })
  #nextNumber = 1
  /** The highest position in any acknowledgement or head. */
  #highest = 0
  readonly #positions = new Set<number>()
  #isStopping = false
  #onAcknowledged: () => void = () => undefined
  /** For the sketch: all paths ever acknowledged, with the version of their last change. */
  readonly changes: Map<string, number> = new Map()
  acknowledgedCount: number = 0
  unknownCount: number = 0

  constructor({ writers, random }: RecordedWritesOptions) {
    this.#random = random
    this.#units = Array.from({ length: writers }, (_, writer) => [
      ...Array.from({ length: 12 }, (_, i) => unit([`w${writer}-single${i}`])),
      ...Array.from({ length: 6 }, (_, i) =>
        unit(Array.from({ length: GROUP_SIZE }, (_, part) => `w${writer}-group${i}-${part}`)),
      ),
    ])
  }

  /** Starts all writers; resolves when each has failed or was asked to stop. */
  async writeUntilBroken(url: string): Promise<void> {
    this.#isStopping = false
    const floor = this.#highest
    await Promise.all(this.#units.map(units => this.#write(url, units, floor)))
    this.#agent.destroy()
    this.#agent = new Agent({ keepAlive: true })
  }

  stop(): void {
    this.#isStopping = true
  }

  /** Resolves after this many further acknowledgements. */
  acknowledged(more: number): Promise<void> {
    const count = this.acknowledgedCount + more
    return new Promise(resolve => {
      this.#onAcknowledged = () => this.acknowledgedCount >= count && resolve()
      this.#onAcknowledged()
    })
  }

  async #write(url: string, units: readonly Unit[], floor: number): Promise<void> {
    while (!this.#isStopping) {
      const free = units.filter(candidate => candidate.underWay === null)
      const chosen = free[Math.floor(this.#random() * free.length)]
      if (chosen === undefined) throw new Error('Every key has a write under way. Give the writers more keys.')
      if (!(await this.#writeOne(url, chosen, floor))) return
    }
  }

  /** False if the connection broke, and the outcome is unknown. */
  async #writeOne(url: string, target: Unit, floor: number): Promise<boolean> {
    const isDelete = target.acknowledged.number !== undefined && this.#random() < 0.1
    const number = isDelete ? undefined : this.#nextNumber++
    target.underWay = { number }
    let position: number
    try {
      position = await this.#send(url, target.ids, number)
    } catch (error) {
      if (!isConnectionError(error)) throw error
      this.unknownCount++
      return false
    }
    this.#takePosition(position, floor)
    this.#settle(target, { number, version: position })
    this.acknowledgedCount++
    this.#onAcknowledged()
    return true
  }

  async #send(url: string, ids: readonly string[], number: number | undefined): Promise<number> {
    const single = ids.length === 1 ? `${BUCKET}/${ids[0]}` : undefined
    if (single && number === undefined) return (await this.#ask<WriteAnswer>('DELETE', url + single)).position
    if (single) return (await this.#ask<WriteAnswer>('PUT', url + single, { number })).position
    const writes = ids.map(id => ({
      path: `${BUCKET}/${id}`,
      ...(number === undefined ? { delete: true } : { value: { number } }),
    }))
    return (await this.#ask<CommitAnswer>('POST', `${url}/commit`, { writes })).position
  }

  /** One commit takes each position; positions of a restarted server are higher than all that were shown before. */
  #takePosition(position: number, floor: number): void {
    if (position <= floor) throw new Error(`Position ${position} came after ${floor} had been shown.`)
    if (this.#positions.has(position)) throw new Error(`Position ${position} was issued twice.`)
    this.#positions.add(position)
    this.#highest = Math.max(this.#highest, position)
  }

  #settle(target: Unit, state: State): void {
    target.acknowledged = state
    target.underWay = null
    for (const id of target.ids) this.changes.set(`${BUCKET}/${id}`, state.version)
    this.changes.set(BUCKET, Math.max(this.changes.get(BUCKET) ?? 0, state.version))
  }

  /**
   * Compares the record with the server. With `isRestarted`, no earlier write can still arrive, and the stored value settles what
   * was under way. Throws with the first broken promise.
   */
  async verify(url: string, isRestarted: boolean): Promise<void> {
    const found = await this.#readAll(url)
    for (const target of this.#units.flat()) this.#verifyUnit(target, found, isRestarted)
    await this.#verifySketch(url)
  }

  #verifyUnit(target: Unit, found: ReadonlyMap<string, State>, isRestarted: boolean): void {
    const states = target.ids.map(id => found.get(id) ?? { number: undefined, version: 0 })
    const state = states[0]!
    const tell = () => `${target.ids}: found ${JSON.stringify(states)}, recorded ${JSON.stringify(target)}`
    if (states.some(other => other.number !== state.number || other.version !== state.version)) {
      throw new Error(`A commit took effect only in part. ${tell()}`)
    }
    const { acknowledged, underWay } = target
    const isSame = state.number === acknowledged.number
    if (isSame && state.number !== undefined && state.version !== acknowledged.version) {
      throw new Error(`An acknowledged write has another version. ${tell()}`)
    }
    if (isSame) {
      if (isRestarted) target.underWay = null
      return
    }
    if (underWay === null || underWay.number !== state.number) throw new Error(`A write is lost. ${tell()}`)
    if (!isRestarted) return
    // An absent object shows no version; the sketch has it.
    if (state.number !== undefined) this.#takePosition(state.version, acknowledged.version)
    this.#settle(target, { ...state, version: Math.max(state.version, acknowledged.version) })
  }

  async #readAll(url: string): Promise<ReadonlyMap<string, State>> {
    const found = new Map<string, State>()
    for (let after = ''; ; ) {
      const page = await this.#ask<ListPage<{ number: number }>>(
        'GET',
        `${url}${BUCKET}?${after}embed&limit=1000`,
        undefined,
        [404],
      )
      for (const { id, version, value } of page.items ?? []) found.set(id, { number: value!.number, version })
      if (page.next === undefined) return found
      after = `after=${encodeURIComponent(page.next)}&`
    }
  }

  /** Every path with an acknowledged change is in the sketch, at its version or later, as a real session sees it. */
  async #verifySketch(url: string): Promise<void> {
    const head = await this.#ask<CoherenceHead>('GET', `${url}/coherence`)
    if (head.position < this.#highest) {
      throw new Error(`The head is at ${head.position}, but position ${this.#highest} was acknowledged.`)
    }
    this.#highest = head.position
    const session = new Session({ stalenessMs: 0 })
    const plan = session.planHead(head, undefined)
    const missing = plan.kind === 'install' ? plan.missing : []
    const bundle =
      missing.length === 0
        ? new Uint8Array()
        : await this.#bytes('GET', `${url}/coherence/segments/${formatSegmentRefs(missing)}`)
    session.installHead(head, undefined, decodeSegmentBundle(bundle, missing.length, parseSeed(head.seed)!), 0)
    for (const [path, version] of this.changes) {
      const at = session.at({ paths: [path] }, 'session')
      if (at === undefined || at < version) {
        throw new Error(`${path} changed at ${version}, but the sketch says ${at} (head ${JSON.stringify(head)}).`)
      }
    }
  }

  async #ask<Answer>(method: string, url: string, body?: unknown, also: readonly number[] = []): Promise<Answer> {
    return JSON.parse((await this.#bytes(method, url, body, also)).toString()) as Answer
  }

  async #bytes(method: string, url: string, body?: unknown, also: readonly number[] = []): Promise<Buffer> {
    const { status, bytes } = await send(this.#agent, method, url, body)
    if ((status >= 200 && status < 300) || also.includes(status)) return bytes
    throw new Error(`${method} ${url} was answered ${status}: ${bytes}`)
  }
}

function unit(ids: readonly string[]): Unit {
  return { ids, acknowledged: { number: undefined, version: 0 }, underWay: null }
}

function send(agent: Agent, method: string, url: string, body: unknown): Promise<{ status: number; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers: { 'content-type': 'application/json' } }, response => {
      buffer(response).then(bytes => resolve({ status: response.statusCode!, bytes }), reject)
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

function isConnectionError(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return ['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNABORTED'].includes(code ?? '')
}
