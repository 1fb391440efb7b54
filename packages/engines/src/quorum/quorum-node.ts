/**
 * One node: a store, which is opened when that is possible, and opened again if need be. A request is answered, or given up after
 * `answerMsMax`; it may still be carried out later. While a node does not answer, it gets one request at a time, so that no other
 * request waits for it.
 */
import { type Accepted, type Ask, type NodeView, type Reply, SLOTS_PER_READ } from '@freshet/core/agreement'
import type { Commit, Key, Position, Store, StoredValue, Write } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { APPLIED, type Applied, FIRST, type First, slotKey, VOICE, type Voice } from './node-keys.js'
import { decodeSlot, encodeSlot } from './record-bytes.js'

export interface RingNodeOptions {
  /** For messages: the address without a password. */
  readonly place: string
  open(): Promise<Store>
  readonly answerMsMax: number
}

/** With this many requests under way, the node counts as silent. */
const ASKED_MAX = 256
const REOPEN_MS = 500

export interface LogView extends NodeView<Uint8Array> {
  readonly applied: number | undefined
}

export class NodeSilent extends Error {
  override readonly name = 'NodeSilent'
  /** The node was not asked: this error repeats what is known of it. */
  readonly isRepeated: boolean

  constructor(message: string, isRepeated = false) {
    super(message)
    this.isRepeated = isRepeated
  }
}

export class QuorumNode {
  readonly place: string
  /** The quorum that it must belong to in order to have a voice; undefined: that is not known yet. */
  ring: string | undefined
  /** It answers, but no longer belongs to the quorum: it has lost its data. */
  isEmptied = false
  /** Its rows are of no state, or too old for the log. */
  needsRows = false
  /** The furthest slot that its rows are known to have reached. */
  applied = -1
  readonly #options: RingNodeOptions
  #trouble: unknown
  #store: Store | undefined
  #voice: Voice | undefined
  #opening: Promise<Store> | undefined
  #triedMs = Number.NEGATIVE_INFINITY
  #asked = 0
  #isSilent = false
  #isClosed = false

  constructor(options: RingNodeOptions) {
    this.#options = options
    this.place = options.place
  }

  /** Why its last request failed. */
  get trouble(): unknown {
    return this.#trouble
  }

  set trouble(error: unknown) {
    if (!(error instanceof NodeSilent && error.isRepeated)) this.#trouble = error
  }

  get isSilent(): boolean {
    return this.#isSilent || this.#store === undefined
  }

  get durability(): Store['supports']['durability'] | undefined {
    return this.#store?.supports.durability
  }

  /** The id of the node's own log; undefined: it was not opened yet. */
  get log(): string | undefined {
    return this.#store?.log
  }

  /** Every request is answered: with `lost` if the node did not answer in time. */
  async answer(ask: Ask<Uint8Array>): Promise<Reply<Uint8Array>> {
    try {
      if (ask.kind === 'read') return { kind: 'view', view: await this.view(ask.first) }
      const write = ask.kind === 'accept' ? slotWrite(ask.slot, ask.accepted) : this.#promise(ask.ballot)
      return await this.#writeIf(ask.version, write)
    } catch {
      // The caller finds the reason in `trouble`, if it needs it.
      return { kind: 'lost' }
    }
  }

  /** The node's part of the log, in one state. */
  async view(first: number): Promise<LogView> {
    const slots = Array.from({ length: SLOTS_PER_READ }, (_, i) => first + i)
    const [voice, applied, begin, ...found] = await this.read([VOICE, APPLIED, FIRST, ...slots.map(slotKey)])
    const own = voice && (parse(voice) as Voice)
    const belongs = own !== undefined && own.ring === this.ring
    this.#voice = own
    this.isEmptied = this.ring !== undefined && !belongs
    this.needsRows = applied === undefined
    const accepted = new Map<number, Accepted<Uint8Array>>()
    for (const [i, value] of found.entries()) if (value) accepted.set(slots[i]!, decodeSlot(value.body))
    if (!belongs) return { promised: undefined, slots: accepted, droppedTo: -1, applied: undefined }
    return {
      promised: { ballot: own.ballot, version: voice!.version },
      slots: accepted,
      droppedTo: begin ? (parse(begin) as First).slot - 1 : -1,
      applied: this.#learn(applied),
    }
  }

  /** In one state. Throws if the node does not answer. */
  async read(keys: readonly Key[], msMax?: number): Promise<readonly (StoredValue | undefined)[]> {
    return (await this.ask(store => store.getMany(keys), msMax)).value
  }

  /** The node's position, or undefined if something had changed. Throws if it does not answer. */
  async commit(commit: Commit): Promise<Position | undefined> {
    const result = await this.ask(store => store.commit(commit))
    return result.committed ? result.position : undefined
  }

  /** Throws NodeSilent if there is no answer in time, and every error of the store. */
  async ask<Result>(
    work: (store: Store) => Promise<Result> | Result,
    msMax: number = this.#options.answerMsMax,
  ): Promise<Result> {
    if (this.#isClosed || this.#asked >= (this.#isSilent ? 1 : ASKED_MAX)) throw this.#silent()
    this.#asked++
    // The request counts until it ends, also after its caller has given up.
    const working = this.#work(work).finally(() => this.#asked--)
    const { result, timer } = inTime(working, msMax)
    try {
      const answer = await result
      this.#isSilent = false
      return answer
    } catch (error) {
      // A refusal is an answer too, for lack of space, for example.
      this.#isSilent = !(error instanceof FreshetError) || error.code === 'STORE_UNAVAILABLE'
      this.trouble = error
      throw error
    } finally {
      clearTimeout(timer())
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const store = this.#store ?? (await this.#opening?.catch(() => undefined))
    await store?.close()
  }

  async #work<Result>(work: (store: Store) => Promise<Result> | Result): Promise<Result> {
    return work(this.#store ?? (await this.#opened()))
  }

  #opened(): Promise<Store> {
    if (this.#opening !== undefined) return this.#opening
    if (performance.now() - this.#triedMs < REOPEN_MS) throw this.#silent()
    this.#triedMs = performance.now()
    this.#opening = this.#options.open()
    this.#opening.then(
      store => {
        this.#store = store
        this.#opening = undefined
        if (this.#isClosed) void store.close()
      },
      error => {
        this.#opening = undefined
        this.trouble = error
      },
    )
    return this.#opening
  }

  /** The rest of the voice stays as last read. If it has changed since, its version has too, and the write is refused. */
  #promise(ballot: Voice['ballot']): Write {
    if (this.#voice === undefined) throw this.#silent()
    // A promise implies that the quorum is founded, also if that note has not reached this node: it may be the last to remember.
    return voiceWrite({ ...this.#voice, isFounded: true, ballot })
  }

  async #writeIf(version: number, write: Write): Promise<Reply<Uint8Array>> {
    const position = await this.commit({ reads: [{ key: VOICE, version }], writes: [write] })
    return position === undefined ? { kind: 'refused' } : { kind: 'done', version: position }
  }

  #learn(applied: StoredValue | undefined): number | undefined {
    if (applied === undefined) return undefined
    const { slot } = parse(applied) as Applied
    this.applied = Math.max(this.applied, slot)
    return slot
  }

  #silent(): NodeSilent {
    const why = this.trouble instanceof Error ? `: ${this.trouble.message}` : ''
    return new NodeSilent(`${this.place} does not answer${why}`, true)
  }
}

/** Whether the node holds data that is not of a quorum. */
export async function holdsOthers(node: QuorumNode): Promise<boolean> {
  const buckets = await node.ask(store => store.buckets())
  return buckets.some(({ bucket }) => !bucket.startsWith('.ring/'))
}

export function slotWrite(slot: number, accepted: Accepted<Uint8Array>): Write {
  return { key: slotKey(slot), contentType: 'application/octet-stream', body: encodeSlot(accepted) }
}

export function voiceWrite(voice: Voice): Write {
  return jsonWrite(VOICE, voice)
}

export function jsonWrite(key: Key, value: unknown): Write {
  return { key, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }
}

export function parse({ body }: StoredValue): unknown {
  return JSON.parse(Buffer.from(body).toString())
}

function inTime<Result>(
  work: Promise<Result>,
  ms: number,
): { readonly result: Promise<Result>; readonly timer: () => NodeJS.Timeout | undefined } {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NodeSilent(`no answer for ${Math.ceil(ms)} ms`)), ms)
  })
  return { result: Promise.race([work, late]), timer: () => timer }
}
