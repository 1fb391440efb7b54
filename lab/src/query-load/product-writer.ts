/**
 * One writer of products. Each write is a commit that also puts the write's number under the writer's own name, on condition
 * that it is the writer's next write. So even when an answer was lost, the writer can find out whether and when its write was
 * done; and the write cannot be done later.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type CommitPart, type Database, FreshetError, versionOf } from '@freshet/client'
import type { Random } from '../harness/random.js'
import { BUCKET, MARKERS, PRODUCT_IDS, type Product, productOf } from './asked-queries.js'
import type { KnownWrites } from './known-writes.js'

export interface ProductWriterOptions {
  readonly name: string
  /** A connection straight to the server. */
  readonly direct: Database
  readonly writes: KnownWrites
  readonly random: Random
}

interface Marker {
  readonly number: number
}

const DELETE_SHARE = 0.15
const PAUSE_MS = 20
let nextNumber = 1

export class ProductWriter {
  readonly #options: ProductWriterOptions
  #markerVersion: number | 'absent' = 'absent'
  /** One write at a time: each builds on the one before. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ProductWriterOptions) {
    this.#options = options
  }

  /** Writes a product through this connection. Returns its position if the answer arrived there; otherwise undefined. */
  write(db: Database, id: string = this.#options.random.pick(PRODUCT_IDS)): Promise<number | undefined> {
    const { random } = this.#options
    const number = nextNumber++
    const product = random.float() < DELETE_SHARE ? undefined : productOf(number, random)
    const written = this.#last.then(() => this.#write(db, id, number, product))
    this.#last = written.catch(() => undefined)
    return written
  }

  async #write(db: Database, id: string, number: number, product: Product | undefined): Promise<number | undefined> {
    const { writes } = this.#options
    const ticket = writes.begin()
    let position: number | undefined
    let answered: number | undefined
    try {
      const part = { bucket: BUCKET, id }
      const write: CommitPart = product === undefined ? { ...part, delete: true } : { ...part, value: product }
      answered = (await db.commit([write, this.#marker(number)])).position
      position = answered
    } catch (error) {
      if (!(error instanceof FreshetError)) throw error
      position = await this.#findOut(number)
    }
    if (position !== undefined) this.#markerVersion = position
    writes.end(ticket, position === undefined ? undefined : { position, id, product }, performance.now())
    return answered
  }

  /** The position of the write with this number, if it was done; otherwise it never will be. */
  async #findOut(number: number): Promise<number | undefined> {
    const { direct, name } = this.#options
    const fence = nextNumber++
    for (;;) {
      try {
        const marker = await direct.bucket<Marker>(MARKERS).get(name, { read: 'current' })
        if (marker?.number === number) return versionOf(marker)
        if (marker?.number === fence) {
          this.#markerVersion = versionOf(marker)
          return undefined
        }
        await direct.commit([this.#marker(fence)])
      } catch (error) {
        if (!(error instanceof FreshetError)) throw error
        // The server is down, or one of the two writes was done: the next read shows which.
        await delay(PAUSE_MS)
      }
    }
  }

  #marker(number: number): CommitPart {
    const value: Marker = { number }
    return { bucket: MARKERS, id: this.#options.name, value, ifVersion: this.#markerVersion }
  }
}
