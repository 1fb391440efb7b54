/**
 * Which members are up, by gossip (van Renesse, Minsky and Hayden, A gossip-style failure detection service, 1998). Each member
 * counts up a number of its own, its beat, and now and then exchanges with another one the highest beats that it has received. A
 * member whose beat has not grown for long is suspected (`arrivals.ts`), and in the end forgotten.
 *
 * A member need not know all others to begin with: it gossips with the ones it meets, and they know others. A suspicion is an
 * opinion, and no promise depends on it: it saves others the time that it takes to find out by asking.
 */
import { Arrivals } from './arrivals.js'

export interface Beat {
  readonly name: string
  readonly beat: number
}

export interface GossipOptions {
  /** How often each member gossips with another. */
  readonly everyMs: number
  readonly phiMax: number
  /** A member whose beat has not grown for this long is forgotten. */
  readonly forgetMs: number
}

export const GOSSIP_DEFAULTS: GossipOptions = { everyMs: 1000, phiMax: 8, forgetMs: 600_000 }

interface Member {
  beat: number
  /** When it was met, or its beat last grew. */
  heardMs: number
  readonly arrivals: Arrivals
}

export class Gossip {
  readonly #self: string
  readonly #options: GossipOptions
  readonly #members = new Map<string, Member>()
  /** The last beats of forgotten members, so that old gossip does not bring them back. */
  readonly #forgotten = new Map<string, Member>()
  #beat = 0

  /** The name is for this life alone: a member that comes back has another name. */
  constructor(self: string, options: GossipOptions = GOSSIP_DEFAULTS) {
    this.#self = self
    this.#options = options
  }

  /** To be called every `everyMs`. Returns the member to gossip with, if any, and what to send; `random` is from 0 up to 1. */
  tick(nowMs: number, random: number): { readonly to: string; readonly beats: readonly Beat[] } | undefined {
    this.#beat++
    this.#forget(nowMs)
    const names = [...this.#members.keys()]
    const to = names[Math.floor(random * names.length)]
    return to === undefined ? undefined : { to, beats: this.beats() }
  }

  /** All known beats, including our own: sent as gossip, and as the answer to gossip. */
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

  /** Adds a member that may be up, and of which nothing is known yet. */
  meet(name: string, nowMs: number): void {
    if (name !== this.#self && !this.#members.has(name) && !this.#forgotten.has(name)) this.#add(name, nowMs)
  }

  /** False for a member that is not known. */
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
