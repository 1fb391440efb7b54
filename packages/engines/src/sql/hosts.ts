/**
 * Several servers, one of which is the primary, in one address: `postgres://user@a:5432,b:5433/database`. They are tried in
 * turn, beginning with the one that worked last, until one accepts writes. So a store continues after another server has
 * become the primary, without a proxy.
 */
import { FreshetError } from '@freshet/protocol'
import { EngineLost } from '@freshet/store/engine'

const ADDRESS = /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/is

/** The same address for each host. An address that cannot be parsed is returned unchanged; its next reader reports the error. */
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

  /**
   * The result for the first host that works. If one fails with a specific error, throws that rather than that the others do
   * not answer.
   */
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
