/**
 * All commits of one turn of the event loop go to Redis together: one script, one round trip. Measured with 64 in flight: one
 * and a half times as many commits as one by one. They are sent as one argument, in MessagePack (msgpack.org), which Lua reads
 * faster than many arguments, and the driver writes faster.
 */

import type { SharedClock } from '@freshet/store/clock'
import { type Client, type Reply, Script } from './client.js'
import { COMMIT_SCRIPT } from './commit-script.js'
import { ARRAY_BYTES, type Part, packParts, sizeOf } from './message-pack.js'

/** Redis does nothing else while it runs a batch. */
const COMMITS_MAX = 32
const BYTES_MAX = 1024 * 1024

const commitScript = new Script(COMMIT_SCRIPT)

interface Waiting {
  readonly parts: readonly Part[]
  readonly keys: readonly string[]
  resolve(reply: Reply): void
  reject(error: unknown): void
}

interface Batch {
  readonly client: Client
  readonly waiting: Waiting[]
  bytes: number
}

export class CommitBatches {
  readonly #head: string
  readonly #clock: SharedClock
  #open: Batch | undefined

  constructor(head: string, clock: SharedClock) {
    this.#head = head
    this.#clock = clock
  }

  /**
   * The script's answer to this commit; null if there is no store. `keys`: the keys that it uses, where they must be declared.
   */
  add(client: Client, parts: readonly Part[], keys: readonly string[] = []): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const bytes = sizeOf(parts)
      const open = this.#open
      if (open && (open.client !== client || open.waiting.length === COMMITS_MAX || open.bytes + bytes > BYTES_MAX))
        this.#send()
      this.#open ??= this.#begin(client)
      this.#open.waiting.push({ parts, keys, resolve, reject })
      this.#open.bytes += bytes
    })
  }

  #begin(client: Client): Batch {
    const batch: Batch = { client, waiting: [], bytes: ARRAY_BYTES }
    setImmediate(() => {
      if (this.#open === batch) this.#send()
    })
    return batch
  }

  #send(): void {
    const { client, waiting, bytes } = this.#open!
    this.#open = undefined
    const packed = packParts(
      waiting.map(each => each.parts),
      bytes,
    )
    const keys = waiting.flatMap(each => each.keys)
    commitScript.run(client, this.#head, [`${this.#clock.nowMs()}`, packed], keys).then(
      reply => {
        const replies = Array.isArray(reply) ? (reply as readonly Reply[]) : undefined
        for (const [i, { resolve }] of waiting.entries()) resolve(replies?.[i] ?? null)
      },
      error => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }
}
