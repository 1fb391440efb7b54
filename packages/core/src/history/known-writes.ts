/**
 * The truth, as far as it was recorded: who was told that what was written, when. It holds a window of it; of what is
 * older, the latest of each path.
 *
 * A write may be told of twice, by its client and by the server. Both are true: whichever shows that it was acknowledged
 * in time will do.
 */
import type { Position } from '@freshet/protocol'
import { Generations } from './generations.js'
import type { Moment } from './server-times.js'

export interface Acknowledgement {
  /** Of the session that was told, or the server that told. */
  readonly session: string
  readonly began: Moment
  readonly ended: Moment
}

export interface KnownWrite {
  readonly position: Position
  readonly isDelete: boolean
  readonly acknowledged: Acknowledgement[]
  /** Of the stream, when it came. */
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

  note(path: string, position: Position, isDelete: boolean, told: Acknowledgement, nowUs: number): void {
    const writes = this.#paths.getOrCreate(path, () => [])
    let index = writes.length
    while (index > 0 && writes[index - 1]!.position > position) index--
    const same = writes[index - 1]
    if (same?.position === position) same.acknowledged.push(told)
    else writes.splice(index, 0, { position, isDelete, acknowledged: [told], notedUs: nowUs })
    if (writes.length > CROWD) this.#prune(writes, nowUs)
  }

  #prune(writes: KnownWrite[], nowUs: number): void {
    let old = 0
    while (old < writes.length - 1 && writes[old]!.notedUs < nowUs - this.#windowUs) old++
    if (old > 1) writes.splice(0, old - 1)
  }
}

const NONE: readonly KnownWrite[] = []
