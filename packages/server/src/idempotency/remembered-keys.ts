/**
 * Bounds how many keys of other clients than ours are remembered for a namespace: at most `keysPerNamespaceMax`, so that a
 * caller who may write a little cannot fill the disk with keys. A commit that remembers a key adds to a counter in the same
 * step, and the store refuses it beyond the bound. So the bound holds however many servers commit at once. There is a counter
 * for each slot of time, under keys that no request can name, and counters of slots that the store has forgotten are deleted:
 *     _freshet/keys/acme.000000000123
 * _freshet/keys/acme.000000000123
 *
 * What another server adds to a slot that has just ended may be missed until the next slot.
 */
import type { Addition, CounterRefusal, MaybePromise, Store } from '@freshet/core/store'
import { type FreshetError, idOfKey, type Key, type OperationId } from '@freshet/protocol'
import { isPromise } from '../http/maybe-promise.js'
import { overLimit } from '../settings/limits.js'

const KEYS: Key = '_freshet/keys'
/** How many slots the time is divided into for which operations are remembered. */
const SLOTS = 24
const DIGITS = 12
const NAMESPACES_MAX = 10_000

interface Count {
  readonly slot: number
  /** The sum of the earlier slots that still count. */
  readonly before: number
}

export class RememberedKeys {
  readonly #store: Store
  readonly #max: number
  readonly #counts = new Map<string, Count>()

  constructor(store: Store, max: number) {
    this.#store = store
    this.#max = max
  }

  /** What the commit must contain to remember this id for these namespaces. */
  additionsFor(id: OperationId, namespaces: Iterable<string>): MaybePromise<readonly Addition[]> {
    if (id.kind === 'own') return []
    const slot = this.#slot()
    const additions = [...new Set(namespaces)].map(namespace => this.#additionFor(namespace, slot))
    return additions.some(isPromise) ? Promise.all(additions) : (additions as readonly Addition[])
  }

  /** Undefined if the counter that refused is not one of these. */
  refusalOf({ key }: CounterRefusal): FreshetError | undefined {
    if (!key.startsWith(`${KEYS}/`)) return undefined
    const [namespace] = idOfKey(key)!.split('.')
    return overLimit({
      code: 'LIMIT_EXCEEDED',
      limit: 'keysPerNamespaceMax',
      what:
        `The server remembers ${this.#max} Idempotency-Keys for the namespace ${namespace}, the most that it keeps for one ` +
        'namespace, so nothing was done. It forgets old keys after a while.',
      instead: 'Retry later, write without a key, use the ids of our clients (docs/guides/counters-and-retries.md)',
      details: { namespace, keysPerNamespaceMax: this.#max, outcome: 'not-done' },
    })
  }

  #additionFor(namespace: string, slot: number): MaybePromise<Addition> {
    const known = this.#counts.get(namespace)
    if (known?.slot === slot) return this.#addition(namespace, known)
    return this.#count(namespace, slot).then(count => this.#addition(namespace, count))
  }

  #addition(namespace: string, { slot, before }: Count): Addition {
    return { key: keyOf(namespace, slot), by: 1, decimals: 0, max: Math.max(0, this.#max - before) }
  }

  async #count(namespace: string, slot: number): Promise<Count> {
    const { entries } = await this.#store.scan(KEYS, { prefix: `${namespace}.`, limit: 10 * SLOTS })
    const oldest = slot - SLOTS - 1
    const isForgotten = ({ id }: { readonly id: string }) => slotOf(id) < oldest
    const forgotten = entries.filter(isForgotten)
    if (forgotten.length > 0) {
      await this.#store.commit({ writes: forgotten.map(({ id }) => ({ key: `${KEYS}/${id}`, delete: true })) })
    }
    const counted = entries.filter(entry => !isForgotten(entry) && slotOf(entry.id) < slot)
    const before = counted.reduce((sum, { body }) => sum + Number(new TextDecoder().decode(body)), 0)
    if (this.#counts.size >= NAMESPACES_MAX) this.#counts.clear()
    const count = { slot, before }
    this.#counts.set(namespace, count)
    return count
  }

  #slot(): number {
    return Math.floor((SLOTS * this.#store.nowMs()) / this.#store.supports.retentionMs)
  }
}

function keyOf(namespace: string, slot: number): Key {
  return `${KEYS}/${namespace}.${String(slot).padStart(DIGITS, '0')}`
}

function slotOf(id: string): number {
  return Number(id.slice(id.indexOf('.') + 1))
}
