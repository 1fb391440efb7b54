/**
 * The recorded truth: which write was acknowledged to which session, and when. It holds a window of the history, and for
 * older writes the latest one of each path.
 *
 * A write may be recorded twice, by its client and by the server. Both are true; either may show that it was acknowledged
 * in time.
 */
import type { Position } from '@freshet/protocol'
import { Generations } from './generations.js'
import type { Moment } from './server-times.js'

export interface Acknowledgement {
  /** The session that received the acknowledgement, or the server that sent it. */
  readonly session: string
  readonly began: Moment
  readonly ended: Moment
}

export interface KnownWrite {
  readonly position: Position
  readonly isDelete: boolean
  readonly acknowledged: Acknowledgement[]
  /** The stream's time when it came. */
  readonly notedUs: number
}

const CROWD = 256

export class KnownWrites {
  readonly #paths: Generations<KnownWrite[]>
  readonly #windowUs: number

  constructor(options: { readonly pathsMax: number; readonly windowUs: number }) {
    this.#paths = new Generations(options.pathsMax)
    this.#windowUs = options.windowUs
  }

  get forgotten(): number {
    return this.#paths.forgotten
  }

  /** By position, ascending. */
  of(path: string): readonly KnownWrite[] {
    return this.#paths.get(path) ?? NONE
  }

  note(path: string, position: Position, isDelete: boolean, acknowledgement: Acknowledgement, nowUs: number): void {
    const writes = this.#paths.getOrCreate(path, () => [])
    let index = writes.length
    while (index > 0 && writes[index - 1]!.position > position) index--
    const same = writes[index - 1]
    if (same?.position === position) same.acknowledged.push(acknowledgement)
    else writes.splice(index, 0, { position, isDelete, acknowledged: [acknowledgement], notedUs: nowUs })
    if (writes.length > CROWD) this.#prune(writes, nowUs)
  }

  #prune(writes: KnownWrite[], nowUs: number): void {
    let old = 0
    while (old < writes.length - 1 && writes[old]!.notedUs < nowUs - this.#windowUs) old++
    if (old > 1) writes.splice(0, old - 1)
  }
}

const NONE: readonly KnownWrite[] = []
