/** Several processes that work at the same time, as one contender. Each does a share of the work. */
import { type PreparedContender, startChild } from './child-contender.js'
import type { Readings } from './side-by-side.js'

export interface FleetOptions<Measure extends string> {
  readonly name: string
  readonly module: URL
  readonly servers: number
  /** By the number of the server, from 0. */
  readonly settingsOf: (server: number) => unknown
  /** Measures of work that is shared: their time counts for a share of it. */
  readonly shared: readonly Measure[]
}

export async function startContenderFleet<Measure extends string>(
  options: FleetOptions<Measure>,
): Promise<PreparedContender<undefined, Measure>> {
  const { name, module, servers, settingsOf, shared } = options
  const children = await Promise.all(
    Array.from({ length: servers }, (_, server) =>
      startChild<undefined, Measure>({ name: `${name}, ${server}`, module, settings: settingsOf(server) }),
    ),
  )
  return {
    name,
    details: undefined,
    async round() {
      const readings = await Promise.all(children.map(child => child.round()))
      const measures = Object.keys(readings[0]!) as Measure[]
      // The slowest process decides when all work is done.
      const slowest = (measure: Measure) => Math.max(...readings.map(each => each[measure]))
      const share = (measure: Measure) => (shared.includes(measure) ? servers : 1)
      return Object.fromEntries(
        measures.map(measure => [measure, slowest(measure) / share(measure)]),
      ) as Readings<Measure>
    },
    stop: async () => {
      await Promise.all(children.map(child => child.stop()))
    },
  }
}

/** "one, 2 servers" */
export function nameFleet(kind: string, servers: number): string {
  return `${kind}, ${servers} ${servers === 1 ? 'server' : 'servers'}`
}
