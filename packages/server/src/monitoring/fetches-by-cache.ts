/**
 * How reads reach this server: through which cache, and whether that cache, or a reader behind it, already had the copy. Caches
 * do not report how many readers they have answered, but their requests are the reads that they could not answer.
 *
 * A cache names itself in `Via` (RFC 9110, 7.6.3), whose last entry is the nearest cache. Any client can send that header, so
 * names are reduced to plain characters, and only `NAMES_MAX` are counted separately.
 */
import type { LabelledValue } from './metrics.js'

class Fetches {
  full = 0
  unchanged = 0
}

const NAMES_MAX = 32
/** The number of raw headers that are remembered, which saves parsing them. */
const KNOWN_MAX = 256
const LOWER = 0x20
const X = 0x78
const HOP = /^(?:HTTP\/)?\d(?:\.\d)? ([\w.:[\]-]{1,64})(?: \(([A-Za-z][\w-]{0,31}))?/i

export class FetchesByCache {
  readonly #direct = new Fetches()
  readonly #named = new Map([['direct', this.#direct]])
  readonly #known = new Map<string, Fetches>()

  /** Call when a read was answered. */
  count(rawHeaders: readonly string[], status: number): void {
    const fetches = this.#fetchesOf(rawHeaders)
    if (status === 304) fetches.unchanged++
    else fetches.full++
  }

  values(): readonly LabelledValue[] {
    return [...this.#named].flatMap(([via, { full, unchanged }]) => [
      { labels: `via="${via}",status="200"`, value: full },
      { labels: `via="${via}",status="304"`, value: unchanged },
    ])
  }

  #fetchesOf(rawHeaders: readonly string[]): Fetches {
    let isForwarded = false
    let via: string | undefined
    // Compares lengths first, since this runs for every read.
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!
      if (name.length === 3) {
        if (name.toLowerCase() === 'via') via = rawHeaders[i + 1]
      } else if (name.length === 15) {
        // Excludes `Accept-Encoding`, of the same length, which nearly every client sends.
        if ((name.charCodeAt(0) | LOWER) === X && name.toLowerCase() === 'x-forwarded-for') isForwarded = true
      } else if (name.length === 9) {
        const lower = name.toLowerCase()
        if (lower === 'x-varnish') via ??= '1.1 Varnish'
        else if (lower === 'forwarded') isForwarded = true
      }
    }
    if (via === undefined) return isForwarded ? this.#ofName('unnamed') : this.#direct
    return this.#known.get(via) ?? this.#ofVia(via)
  }

  #ofVia(via: string): Fetches {
    const hop = via.slice(via.lastIndexOf(',') + 1).trim()
    const [, host, product] = HOP.exec(hop) ?? []
    const fetches = this.#ofName(host === undefined ? 'other' : product === undefined ? host : `${host} (${product})`)
    if (this.#known.size < KNOWN_MAX) this.#known.set(via, fetches)
    return fetches
  }

  #ofName(name: string): Fetches {
    const found = this.#named.get(name)
    if (found !== undefined) return found
    if (this.#named.size >= NAMES_MAX && name !== 'other') return this.#ofName('other')
    const fetches = new Fetches()
    this.#named.set(name, fetches)
    return fetches
  }
}
