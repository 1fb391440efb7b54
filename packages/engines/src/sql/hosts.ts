/**
 * Several servers that one of is the primary, in one address: `postgres://user@a:5432,b:5433/database`. They are tried in turn, the one that did
 * last first, until one is found that can be written to; so a store goes on when another has become the primary, without a proxy.
 */
import { FreshetError } from '@freshet/protocol'
import { EngineLost } from '@freshet/store/engine'

const ADDRESS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/is

/** The same address for each host. What cannot be understood is left as it is, for whoever reads it next to say so. */
export function addressesIn(text: string): readonly string[] {
  const [, before = '', hosts = '', after = ''] = ADDRESS.exec(text) ?? []
  if (!hosts.includes(',')) return [text]
  return hosts.split(',').map(host => `${before}${host}${after}`)
}

/** `a:5432,b:5433/database` */
export function placesOf(places: readonly string[]): string {
  const hosts = places.slice(0, -1).map(place => place.slice(0, place.lastIndexOf('/')))
  return [...hosts, places.at(-1)!].join()
}

export class Hosts<Config> {
  readonly #configs: readonly Config[]
  #last = 0

  constructor(configs: readonly Config[]) {
    this.#configs = configs
  }

  get isSeveral(): boolean {
    return this.#configs.length > 1
  }

  /** What the first makes of it that can be used. Throws what is wrong with one, rather than that others do not answer. */
  async first<Result>(attempt: (config: Config) => Promise<Result>): Promise<Result> {
    const reasons: unknown[] = []
    for (const i of this.#inTurn()) {
      try {
        const result = await attempt(this.#configs[i]!)
        this.#last = i
        return result
      } catch (error) {
        reasons.push(error)
      }
    }
    throw reasons.find(reason => reason instanceof FreshetError) ?? together(reasons)
  }

  #inTurn(): readonly number[] {
    const last = this.#last
    return this.#configs.map((_, i) => (last + i) % this.#configs.length)
  }
}

function together(reasons: readonly unknown[]): unknown {
  if (reasons.length === 1 || !reasons.every(reason => reason instanceof EngineLost)) return reasons[0]
  return new EngineLost(new Error(reasons.map(({ message }) => message).join('; ')), false)
}
