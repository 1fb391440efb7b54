/** BITFIELD for many keys of a filter at once: whatever is asked for in one turn is one command, and so is a list. */
import type { Client, Reply } from '../redis/client.js'

/** Redis does nothing else while it works off one command. */
const KEYS_MAX = 512

interface Waiting {
  readonly offsets: readonly string[]
  resolve(areSet: boolean): void
  reject(error: unknown): void
}

export class BitCommands {
  readonly #client: Client
  readonly #key: string
  readonly #isAdding: boolean
  readonly #hashes: number
  #waiting: Waiting[] = []

  constructor(client: Client, key: string, { isAdding, hashes }: { isAdding: boolean; hashes: number }) {
    this.#client = client
    this.#key = key
    this.#isAdding = isAdding
    this.#hashes = hashes
  }

  /** Whether all bits of a key are set, before it is added. */
  one(offsets: readonly string[]): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#sendWaiting())
      this.#waiting.push({ offsets, resolve, reject })
    })
  }

  async many(keys: readonly (readonly string[])[]): Promise<boolean[]> {
    const sent: Promise<boolean[]>[] = []
    for (let from = 0; from < keys.length; from += KEYS_MAX) sent.push(this.#send(keys.slice(from, from + KEYS_MAX)))
    return (await Promise.all(sent)).flat()
  }

  #sendWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.many(waiting.map(({ offsets }) => offsets)).then(
      answers => {
        for (const [i, { resolve }] of waiting.entries()) resolve(answers[i]!)
      },
      error => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }

  async #send(keys: readonly (readonly string[])[]): Promise<boolean[]> {
    const args = [this.#isAdding ? 'BITFIELD' : 'BITFIELD_RO', this.#key]
    for (const offsets of keys) {
      for (const offset of offsets) {
        if (this.#isAdding) args.push('SET', 'u1', offset, '1')
        else args.push('GET', 'u1', offset)
      }
    }
    const bits = (await this.#client.sendCommand(args)) as readonly Reply[]
    return keys.map((_, i) => {
      for (let at = i * this.#hashes; at < (i + 1) * this.#hashes; at++) if (bits[at] !== 1) return false
      return true
    })
  }
}
