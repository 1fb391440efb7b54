/** A web cache with the given behaviour. It never looks into its copies. */
import type { Path } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import type { EventQueue } from '../simulator/event-queue.js'
import type { CacheBehaviour } from './mix.js'
import type { Done, Reply, Request, Upstream } from './wire.js'

/** How often a hit is fetched again anyway, as when a copy was evicted or a client forced a miss. */
const MISS_RATE = 0.01

interface Copy {
  readonly reply: Reply
  readonly askedMs: number
  readonly storedMs: number
  /** The copy's age when it was stored, as far as the cache counts that. */
  readonly ageMs: number
  readonly lifetimeMs: number
}

export interface WebCacheOptions {
  readonly name: string
  readonly behaviour: CacheBehaviour
  readonly upstream: Upstream
  readonly queue: EventQueue
  readonly random: Random
}

export class WebCache implements Upstream {
  readonly #options: WebCacheOptions
  readonly #copies = new Map<string, Copy>()
  readonly #waiting = new Map<string, Done[]>()

  constructor(options: WebCacheOptions) {
    this.#options = options
  }

  fetch(request: Request, done: Done): void {
    const { behaviour, queue, random } = this.#options
    const name = this.#nameOf(request)
    const copy = this.#copies.get(name)
    const isBypassed = (request.isReload && !behaviour.ignoresReload) || random.float() < MISS_RATE
    const leftMs = copy ? copy.lifetimeMs - this.#ageMs(copy) : Number.NEGATIVE_INFINITY
    if (copy === undefined || isBypassed || leftMs <= -behaviour.graceMs) {
      this.#fill(name, request, done)
      return
    }
    if (leftMs <= 0) this.#fill(name, request, () => {})
    queue.after(0.1, () => done(this.#serve(copy)))
  }

  passWrite(path: Path): void {
    if (this.#options.behaviour.dropsOnWrite) this.#copies.delete(path)
    this.#options.upstream.passWrite(path)
  }

  #nameOf({ url }: Request): string {
    const { leavesOut } = this.#options.behaviour
    if (leavesOut === 'queries') return url.split('?')[0]!
    return leavesOut === 'nonces' ? url.replace(/&nonce=.*$/, '') : url
  }

  #fill(name: string, request: Request, done: Done): void {
    const { behaviour, queue, upstream } = this.#options
    const waiting = this.#waiting.get(name)
    if (waiting && behaviour.collapses) {
      waiting.push(done)
      return
    }
    const mine: Done[] = []
    this.#waiting.set(name, mine)
    const askedMs = queue.nowMs
    upstream.fetch(request, reply => {
      if (this.#waiting.get(name) === mine) this.#waiting.delete(name)
      const copy = reply && this.#store(name, reply, askedMs)
      done(copy ? this.#serve(copy, reply.servedBy) : this.#pass(reply))
      // The cache had joined this request to another one, whose answer may not be shared. Send it separately.
      for (const other of mine) {
        if (copy) other(this.#serve(copy))
        else upstream.fetch(request, own => other(this.#pass(own)))
      }
    })
  }

  #store(name: string, reply: Reply, askedMs: number): Copy | undefined {
    const { behaviour, queue } = this.#options
    const lifetimeMs = this.#lifetimeMs(reply)
    if (lifetimeMs <= 0) return undefined
    const known = this.#copies.get(name)
    const delayMs = behaviour.countsDelay ? queue.nowMs - askedMs : 0
    const apparentMs = behaviour.countsDelay ? Math.max(0, queue.nowMs - reply.dateMs) : 0
    const ageMs = behaviour.countsAge ? Math.max(apparentMs, reply.ageMs + delayMs) : 0
    const copy: Copy = { reply: this.#stripped(reply), askedMs, storedMs: queue.nowMs, ageMs, lifetimeMs }
    if (behaviour.goesBackwards || known === undefined || known.askedMs <= askedMs) this.#copies.set(name, copy)
    return copy
  }

  #lifetimeMs({ content, isNoStore, lifetimeMs }: Reply): number {
    const { behaviour } = this.#options
    if (content.kind === 'head') return behaviour.keepsHeadsMs
    return isNoStore && !behaviour.keepsAbsent ? 0 : Math.max(lifetimeMs, behaviour.lifetimeMsMin)
  }

  #serve(copy: Copy, servedBy = this.#options.name): Reply {
    const ageMs = this.#options.behaviour.sendsAge ? Math.floor(this.#ageMs(copy) / 1000) * 1000 : 0
    // nginx also puts its own Date on the answer.
    const dateMs = this.#options.behaviour.sendsAge ? copy.reply.dateMs : this.#options.queue.nowMs
    return { ...copy.reply, ageMs, dateMs, servedBy }
  }

  #pass(reply: Reply | undefined): Reply | undefined {
    return reply && this.#stripped(reply)
  }

  #stripped(reply: Reply): Reply {
    if (!this.#options.behaviour.stripsPosition || reply.content.kind !== 'object') return reply
    // For an absent object, the position is in the body, which no cache changes.
    if (reply.content.version === undefined) return reply
    return { ...reply, content: { ...reply.content, position: undefined } }
  }

  #ageMs({ ageMs, storedMs }: Copy): number {
    return ageMs + this.#options.queue.nowMs - storedMs
  }
}
