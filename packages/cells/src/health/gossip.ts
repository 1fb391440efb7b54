/**
 * Who is there, told from one to the other (van Renesse, Minsky and Hayden, A gossip-style failure detection service, 1998). Each counts
 * up a number of its own, its beat, and now and then exchanges with somebody the highest beats that it has heard of. Whose beat has not
 * grown for long is suspected (`arrivals.ts`), and in the end forgotten.
 *
 * Nobody need know everybody to begin with: whoever is met is talked to, and knows others. A suspicion is an opinion and decides
 * nothing that must hold: it spares others the time that it takes to find out by asking.
 */
import { Arrivals } from './arrivals.js'

export interface Beat {
  readonly name: string
  readonly beat: number
}

export interface GossipOptions {
  /** How often each talks to somebody. */
  readonly everyMs: number
  readonly phiMax: number
  /** Who was not heard of for so long is forgotten. */
  readonly forgetMs: number
}

export const GOSSIP_DEFAULTS: GossipOptions = { everyMs: 1000, phiMax: 8, forgetMs: 600_000 }

interface Member {
  beat: number
  /** When it was met, or its beat has last grown. */
  heardMs: number
  readonly arrivals: Arrivals
}

export class Gossip {
  readonly #self: string
  readonly #options: GossipOptions
  readonly #members = new Map<string, Member>()
  /** Their last beats, so that who still tells of them does not bring them back. */
  readonly #forgotten = new Map<string, Member>()
  #beat = 0

  /** The name is of this life alone: who comes back is another. */
  constructor(self: string, options: GossipOptions = GOSSIP_DEFAULTS) {
    this.#self = self
    this.#options = options
  }

  /** To be called every `everyMs`. Whom to tell what is known, if there is anybody; `random` is from 0 up to 1. */
  tick(nowMs: number, random: number): { readonly to: string; readonly beats: readonly Beat[] } | undefined {
    this.#beat++
    this.#forget(nowMs)
    const names = [...this.#members.keys()]
    const to = names[Math.floor(random * names.length)]
    return to === undefined ? undefined : { to, beats: this.beats() }
  }

  /** All that is known, our own beat included: what is told, and what is answered. */
  beats(): readonly Beat[] {
    const others = [...this.#members].map(([name, { beat }]) => ({ name, beat }))
    return [{ name: this.#self, beat: this.#beat }, ...others]
  }

  receive(beats: readonly Beat[], nowMs: number): void {
    for (const { name, beat } of beats) {
      if (name === this.#self) continue
      const known = this.#members.get(name) ?? this.#forgotten.get(name)
      if (known !== undefined && beat <= known.beat) continue
      this.#forgotten.delete(name)
      const member = this.#members.get(name) ?? this.#add(name, nowMs)
      member.beat = beat
      member.heardMs = nowMs
      member.arrivals.arrived(nowMs)
    }
  }

  /** Somebody who may be there, and of whom nothing is known yet. */
  meet(name: string, nowMs: number): void {
    if (name !== this.#self && !this.#members.has(name) && !this.#forgotten.has(name)) this.#add(name, nowMs)
  }

  /** Not of somebody who is not known. */
  isSuspected(name: string, nowMs: number): boolean {
    return this.#forgotten.has(name) || (this.#members.get(name)?.arrivals.phi(nowMs) ?? 0) > this.#options.phiMax
  }

  members(nowMs: number): readonly { readonly name: string; readonly isSuspected: boolean }[] {
    return [...this.#members.keys()].map(name => ({ name, isSuspected: this.isSuspected(name, nowMs) }))
  }

  #add(name: string, nowMs: number): Member {
    const member = { beat: 0, heardMs: nowMs, arrivals: new Arrivals(this.#options.everyMs) }
    this.#members.set(name, member)
    return member
  }

  #forget(nowMs: number): void {
    const { forgetMs } = this.#options
    for (const [name, member] of this.#members) {
      if (nowMs - member.heardMs <= forgetMs) continue
      this.#members.delete(name)
      this.#forgotten.set(name, { ...member, heardMs: nowMs })
    }
    for (const [name, { heardMs }] of this.#forgotten) if (nowMs - heardMs > 2 * forgetMs) this.#forgotten.delete(name)
  }
}
