/**
 * One schedule of everything that can go wrong, drawn from a seed. Each simulation builds its own nodes on this class, which
 * provides the time, the randomness and the network, and records the results.
 */
import { createRandom, type Random } from '../harness/random.js'
import { EventQueue } from './event-queue.js'
import { drawRates, NETWORK_FAULTS, Network, type NetworkFault, type Rates } from './network.js'

/** Broken rules by name, with what they break: planted on purpose, to see that the checks detect them. */
export type PlantedBugs = Readonly<Record<string, string>>

export interface ScheduleSettings<Bug extends string> {
  readonly seed: number
  readonly bug?: Bug | undefined
}

/** The names of what a simulation counts: what its nodes did, and faults besides those of the network. */
export interface Counted {
  readonly counts: readonly string[]
  readonly faults: readonly string[]
}

type CountOf<Names extends Counted> = Names['counts'][number]
type FaultOf<Names extends Counted> = Names['faults'][number] | NetworkFault

export interface ScheduleResult<Names extends Counted> {
  /** The promises that were broken. */
  readonly violations: readonly string[]
  readonly counts: Readonly<Record<CountOf<Names> | 'events', number>>
  readonly faults: Readonly<Record<FaultOf<Names>, number>>
}

export interface ScheduleOptions<Names extends Counted> {
  readonly seed: number
  readonly counted: Names
  /** For this long, everything may go wrong. Then the faults end, and the schedule continues for a while. */
  readonly troubleMs: number
  readonly calmMs: number
  /** A message takes from 1 to this many milliseconds; a late one, and the second copy of a doubled one, up to this much more. */
  readonly delayMsMax: number
  readonly lateMsMax: number
  readonly doubledMsMax: number
  readonly ratesMax: Rates
}

export class Schedule<Node, Names extends Counted> {
  readonly queue: EventQueue = new EventQueue()
  readonly random: Random
  readonly troubleMs: number
  readonly calmMs: number
  readonly network: Network<Node>
  readonly counts: Record<CountOf<Names>, number>
  readonly faults: Record<FaultOf<Names>, number>
  readonly #violations: string[] = []

  constructor({ seed, counted, ratesMax, ...options }: ScheduleOptions<Names>) {
    const random = createRandom(seed)
    this.random = random
    this.troubleMs = options.troubleMs
    this.calmMs = options.calmMs
    this.counts = zeros<CountOf<Names>>(counted.counts)
    this.faults = zeros<FaultOf<Names>>([...NETWORK_FAULTS, ...counted.faults])
    const delayMs = () => 1 + random.below(options.delayMsMax)
    this.network = new Network({
      ...{ queue: this.queue, random, rates: drawRates(random, ratesMax), delayMs },
      lateMs: () => delayMs() + random.below(options.lateMsMax),
      doubledMs: () => delayMs() + random.below(options.doubledMsMax),
      onFault: fault => this.faults[fault]++,
    })
  }

  get violations(): readonly string[] {
    return this.#violations
  }

  get result(): ScheduleResult<Names> {
    const { counts, faults, violations, queue } = this
    return { violations, counts: { ...counts, events: queue.done }, faults }
  }

  violate(what: string): void {
    this.#violations.push(`at ${Math.round(this.queue.nowMs)} ms: ${what}`)
  }

  /** Runs the action `times` times, at times drawn at random. */
  plan(times: number, action: () => void, withinMs: number = this.troubleMs): void {
    for (let i = 0; i < times; i++) this.queue.after(this.random.below(withinMs), action)
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>
}
