/** One client's operations: what it requests, under which ids, and which answers it has. */
import type { Random } from '../harness/random.js'

/** As the SDK makes them, as other clients do, or none: then the server cannot tell a retry from a new operation. */
export type IdKind = 'own' | 'foreign' | 'none'

export interface Step {
  readonly counter: number
  readonly units: number
}

export interface CountingRequest {
  readonly kind: 'single' | 'batch' | 'commit'
  readonly path: string
  readonly body: string
  readonly key: string | undefined
  /** In a batch each step is an operation of its own; in a commit they are one operation together. */
  readonly steps: readonly Step[]
  readonly operations: number
  /** For our own ids: settled by the answer. */
  readonly sequences: readonly number[]
}

export interface CountingOptions {
  readonly ids: IdKind
  readonly name: string
  readonly random: Random
  readonly counters: number
  /** The server's clock. */
  readonly nowMs: () => number
}

export const NAMESPACE = 'lab'
export const BUCKET = 'counters'
export const DECIMALS = 2
const BATCH_MAX = 20

export class CountingClient {
  readonly #options: CountingOptions
  readonly #open = new Set<number>()
  #sequence = 0

  constructor(options: CountingOptions) {
    this.#options = options
  }

  next(): CountingRequest {
    const { random } = this.#options
    const drawn = random.float()
    if (drawn < 0.5) return this.#single()
    return drawn < 0.75 ? this.#batch(2 + random.below(BATCH_MAX - 1)) : this.#commit()
  }

  /** The client has the answer, and stops sending the request. */
  settle({ sequences }: CountingRequest): void {
    for (const sequence of sequences) this.#open.delete(sequence)
  }

  #single(): CountingRequest {
    const step = this.#step()
    const [id] = this.#takeIds(1)
    const path = `/db/${NAMESPACE}/${BUCKET}/${step.counter}`
    return { kind: 'single', path, body: `{"add":${amountOf(step)}}`, steps: [step], operations: 1, ...ofOne(id) }
  }

  #batch(size: number): CountingRequest {
    const steps = Array.from({ length: size }, () => this.#step())
    const ids = this.#takeIds(size)
    const additions = steps.map((step, i) => ({ id: `${step.counter}`, add: amountOf(step), key: ids[i]?.text }))
    const sequences = ids.flatMap(id => id?.sequence ?? [])
    const body = JSON.stringify({ additions })
    return {
      kind: 'batch',
      path: `/db/${NAMESPACE}/${BUCKET}`,
      body,
      key: undefined,
      steps,
      operations: size,
      sequences,
    }
  }

  /** Two counters and an object, all or nothing. */
  #commit(): CountingRequest {
    const { counters, name, random } = this.#options
    const first = this.#step()
    const second = { ...this.#step(), counter: (first.counter + 1 + random.below(counters - 1)) % counters }
    const [id] = this.#takeIds(1)
    const steps = [first, second]
    const adds = steps.map(step => ({ path: `/db/${NAMESPACE}/${BUCKET}/${step.counter}`, add: amountOf(step) }))
    const receipt = { path: `/db/${NAMESPACE}/receipts/${name}`, value: { sequence: this.#sequence } }
    const body = JSON.stringify({ writes: [...adds, receipt] })
    return { kind: 'commit', path: '/commit', body, steps, operations: 1, ...ofOne(id) }
  }

  #step(): Step {
    const { random, counters } = this.#options
    const size = 1 + random.below(9)
    return { counter: random.below(counters), units: random.float() < 0.1 ? -size : size }
  }

  #takeIds(count: number): readonly (OperationText | undefined)[] {
    const { ids, name, nowMs, random } = this.#options
    const sequences = Array.from({ length: count }, () => ++this.#sequence)
    if (ids === 'none') return sequences.map(() => undefined)
    if (ids === 'foreign') {
      return sequences.map(sequence => ({ text: `${name}:${sequence}:${random.uint32().toString(36)}` }))
    }
    for (const sequence of sequences) this.#open.add(sequence)
    // Sequences are added in ascending order, and a set keeps the order: the first is the oldest.
    const [oldest] = this.#open
    const madeMs = Math.floor(nowMs())
    return sequences.map(sequence => ({ sequence, text: `f1.${name}.${sequence}.${oldest! - 1}.${madeMs}` }))
  }
}

interface OperationText {
  readonly text: string
  readonly sequence?: number
}

function ofOne(id: OperationText | undefined): { key: string | undefined; sequences: readonly number[] } {
  return { key: id?.text, sequences: id?.sequence === undefined ? [] : [id.sequence] }
}

function amountOf({ units }: Step): number {
  return units / 10 ** DECIMALS
}
