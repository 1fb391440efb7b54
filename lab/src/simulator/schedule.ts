/**
 * One schedule of everything that can go wrong, drawn from a seed. Each simulation builds its own nodes over this: the time, the
 * randomness and the network are here, and what came of it is noted here.
 */
import { createRandom, type Random } from '../harness/random.js'
import { EventQueue } from './event-queue.js'
import { drawRates, NETWORK_FAULTS, Network, type NetworkFault, type Rates } from './network.js'

/** A broken rule, by name, and what it breaks: planted on purpose, to see that the checks notice it. */
export type PlantedBugs = Readonly<Record<string, string>>

export interface ScheduleSettings<Bug extends string> {
  readonly seed: number
  readonly bug?: Bug | undefined
}

/** The names of what a simulation counts: what its nodes did, and what went wrong beside the network. */
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
  /** For so long everything may go wrong; then all is well, and the schedule goes on for a while. */
  readonly troubleMs: number
  readonly calmMs: number
  /** A message takes from 1 to so many milliseconds; a late one, and the second copy of a doubled one, up to so many more. */
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

  /** So often, at times drawn at random. */
  plan(times: number, action: () => void, withinMs: number = this.troubleMs): void {
    for (let i = 0; i < times; i++) this.queue.after(this.random.below(withinMs), action)
  }
}

function zeros<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map(name => [name, 0])) as Record<Name, number>
}
