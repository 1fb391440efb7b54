/**
 * Decides on changes of the membership: one authority, one change at a time, and the next only when a majority of the members
 * votes under the last. Here it is the simulation itself; between processes it is the operator. Its messages are lost and late
 * like all others.
 */
import type { Peer, Roster } from '@freshet/dht'
import type { Random } from '../harness/random.js'
import type { SimulatedRing } from './simulated-ring.js'

const REPEAT_MS = 300

export class Registrar {
  readonly #ring: SimulatedRing
  readonly #random: Random
  readonly #changes: { readonly kind: 'add' | 'remove'; readonly peer: Peer }[] = []
  #roster: Roster = { version: 0, members: [], before: [] }

  constructor(ring: SimulatedRing, random: Random) {
    this.#ring = ring
    this.#random = random
  }

  begin(members: readonly Peer[]): void {
    this.#roster = { version: 1, members, before: [] }
    for (const peer of members) this.#ring.find(peer)?.adoptRoster(this.#roster, this.#ring.nowMs(peer))
    this.#repeat()
    this.#ring.queue.every(
      () => REPEAT_MS,
      () => this.#repeat(),
    )
  }

  /** A change is under way or waiting. */
  get isBusy(): boolean {
    return this.#changes.length > 0 || !this.#isSettled()
  }

  add(peer: Peer): void {
    this.#changes.push({ kind: 'add', peer })
  }

  remove(peer: Peer): void {
    this.#changes.push({ kind: 'remove', peer })
  }

  #repeat(): void {
    if (this.#isSettled()) this.#change()
    else {
      for (const peer of new Set([...this.#roster.members, ...this.#roster.before])) {
        if (this.#random.float() < 0.3) continue
        const roster = this.#roster
        this.#ring.queue.after(this.#random.below(200), () =>
          this.#ring.find(peer)?.adoptRoster(roster, this.#ring.nowMs(peer)),
        )
      }
    }
  }

  #isSettled(): boolean {
    const { version, members } = this.#roster
    const ready = members.filter(peer => {
      const guard = this.#ring.find(peer)?.guard
      return guard?.isReady === true && guard.roster.version === version
    })
    return ready.length > members.length / 2
  }

  #change(): void {
    const change = this.#changes.shift()
    if (change === undefined) return
    const { version, members } = this.#roster
    const others = members.filter(peer => peer !== change.peer)
    const next = change.kind === 'add' ? [...others, change.peer] : others
    this.#roster = { version: version + 1, members: next, before: members }
  }
}
