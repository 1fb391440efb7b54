/**
 * What each session has seen and written of each path, and when: no later read of the session may fall behind that. A
 * session that continues another, by its token, starts from what that one had seen and written when the token was taken.
 * Whatever it does itself comes after that, so no clocks are compared.
 */
import type { Position } from '@freshet/protocol'
import { Generations } from './generations.js'

export interface Floor {
  /** The session that saw or wrote it. */
  readonly session: string
  readonly endedUs: number
  /** The version seen or written; for an absent object, the position as of which it was absent. */
  readonly position: Position
  readonly isAbsent: boolean
}

export interface HandOver {
  readonly session: string
  readonly atUs: number
}

/** What one session has seen and written of one path. */
export interface Floors {
  readonly seen: Floor[]
  readonly wrote: Floor[]
}

/** Ever later, and ever higher. A read during which this many others end is not judged. */
const FLOORS_MAX = 32
const HAND_OVERS_MAX = 16

export class SessionFloors {
  readonly #floors: Generations<Floors>
  readonly #parents: Generations<HandOver>

  constructor(options: { readonly pairsMax: number; readonly sessionsMax: number }) {
    this.#floors = new Generations(options.pairsMax)
    this.#parents = new Generations(options.sessionsMax)
  }

  get forgotten(): number {
    return this.#floors.forgotten
  }

  continue(session: string, handOver: HandOver): void {
    this.#parents.set(session, handOver)
  }

  of(session: string, path: string): Floors {
    return this.#floors.getOrCreate(`${session} ${path}`, createFloors)
  }

  /** The highest floor that had ended when this operation began, in this session or in those it continues. */
  before(kind: keyof Floors, own: Floors, session: string, path: string, beganUs: number): Floor | undefined {
    let highest = highestBefore(own[kind], beganUs)
    let parent = this.#parents.get(session)
    for (let depth = 0; parent !== undefined && depth < HAND_OVERS_MAX; depth++) {
      const inherited = highestBefore(this.#floors.get(`${parent.session} ${path}`)?.[kind] ?? [], parent.atUs)
      if (inherited !== undefined && inherited.position > (highest?.position ?? 0)) highest = inherited
      parent = this.#parents.get(parent.session)
    }
    return highest
  }
}

export function noteFloor(floors: Floor[], floor: Floor): void {
  const last = floors.at(-1)
  if (last !== undefined && last.endedUs < floor.endedUs && last.position >= floor.position) return
  let index = floors.length
  while (index > 0 && floors[index - 1]!.endedUs > floor.endedUs) index--
  if (index === floors.length) floors.push(floor)
  else floors.splice(index, 0, floor)
  if (floors.length > FLOORS_MAX) floors.splice(0, FLOORS_MAX / 2)
}

function createFloors(): Floors {
  return { seen: [], wrote: [] }
}

function highestBefore(floors: readonly Floor[], beforeUs: number): Floor | undefined {
  let highest: Floor | undefined
  for (let index = floors.length - 1; index >= 0; index--) {
    const floor = floors[index]!
    if (floor.endedUs < beforeUs && floor.position > (highest?.position ?? 0)) highest = floor
  }
  return highest
}
