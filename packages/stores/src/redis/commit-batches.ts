/**
 * All commits that are asked for in one turn of the event loop go to Redis together: one script, one round trip. Measured, 64 in
 * flight: half as many commits again as one by one. They are sent as one argument, in MessagePack (msgpack.org), which Lua reads faster than
 * many arguments, and the driver writes faster.
 */
import { type Client, type Reply, Script } from './client.js'
import type { Part } from './commit-arguments.js'
import { COMMIT_SCRIPT } from './commit-script.js'
import type { RedisClock } from './redis-clock.js'

/** All of Redis waits for a batch. */
const COMMITS_MAX = 32
const BYTES_MAX = 1024 * 1024
/** The mark and the length of the longest text or bytes; a number takes 9. */
const MARK_BYTES = 5
const NUMBER_BYTES = 9

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
  readonly #clock: RedisClock
  #open: Batch | undefined

  constructor(head: string, clock: RedisClock) {
    this.#head = head
    this.#clock = clock
  }

  /** The script's answer to this commit; null if there is no store. `keys`: those it uses, where that must be said. */
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
    const batch: Batch = { client, waiting: [], bytes: MARK_BYTES }
    setImmediate(() => {
      if (this.#open === batch) this.#send()
    })
    return batch
  }

  #send(): void {
    const { client, waiting, bytes } = this.#open!
    this.#open = undefined
    const packed = pack(waiting, bytes)
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

/** At most. */
function sizeOf(parts: readonly Part[]): number {
  let bytes = MARK_BYTES
  for (const part of parts) {
    if (typeof part === 'number') bytes += NUMBER_BYTES
    else bytes += MARK_BYTES + (typeof part === 'string' ? 3 * part.length : part.length)
  }
  return bytes
}

function pack(commits: readonly { readonly parts: readonly Part[] }[], bytes: number): Buffer {
  const target = Buffer.allocUnsafe(bytes)
  let at = mark(target, 0, ARRAY_32, commits.length)
  for (const { parts } of commits) {
    at = mark(target, at, ARRAY_32, parts.length)
    for (const part of parts) at = packPart(target, at, part)
  }
  return target.subarray(0, at)
}

const ARRAY_32 = 0xdd
const STRING_32 = 0xdb
const DOUBLE = 0xcb
const SHORT_STRING = 0xa0
const SHORT_MAX = 31

function packPart(target: Buffer, at: number, part: Part): number {
  if (typeof part === 'number') {
    target[at] = DOUBLE
    return target.writeDoubleBE(part, at + 1)
  }
  if (typeof part === 'string') {
    const isShort = 3 * part.length <= SHORT_MAX
    const start = isShort ? at + 1 : at + MARK_BYTES
    const length = target.write(part, start)
    if (isShort) target[at] = SHORT_STRING + length
    else mark(target, at, STRING_32, length)
    return start + length
  }
  const start = mark(target, at, STRING_32, part.length)
  target.set(part, start)
  return start + part.length
}

function mark(target: Buffer, at: number, kind: number, length: number): number {
  target[at] = kind
  return target.writeUInt32BE(length, at + 1)
}
