/** A filter to try out, with its state in plain words. An exact set beside it knows the truth. */
import { type Bloom, createBloom, keyIndexes, sizeFor } from '@freshet/bloom'

export interface Trial {
  readonly bloom: Bloom
  readonly added: Set<string>
}

export interface Answer {
  readonly tone: 'plain' | 'yes' | 'no' | 'wrong'
  readonly verdict: string
  readonly because: string
}

const BITS_MAX = 2048
const TRIES_MAX = 100_000
const KEYS_AT_ONCE = 10

/** Throws the library's errors, and a RangeError for filters that are too large to draw. */
export function createTrial(entriesMax: number, falsePositiveRateMax: number): Trial {
  const { bits } = sizeFor(entriesMax, falsePositiveRateMax)
  if (bits > BITS_MAX) {
    throw new RangeError(
      `That filter would have ${bits} bits; this page draws up to ${BITS_MAX}. Enter fewer keys or a higher rate.`,
    )
  }
  return { bloom: createBloom({ entriesMax, falsePositiveRateMax }), added: new Set() }
}

export function addKey({ bloom, added }: Trial, key: string): Answer {
  if (added.has(key)) return { tone: 'plain', verdict: 'Added before.', because: 'Nothing changed.' }
  const own = ownBits(bloom, key)
  const fresh = own.filter(index => !isSet(bloom, index)).length
  bloom.add(key)
  added.add(key)
  const others = own.length - fresh
  const because = `${bitsText(fresh)} newly set${others > 0 ? `, ${others} already set by other keys` : ''}.`
  return { tone: 'plain', verdict: 'Added.', because }
}

export function askFor({ bloom, added }: Trial, key: string): Answer {
  const own = ownBits(bloom, key)
  if (!bloom.has(key)) {
    const missing = own.find(index => !isSet(bloom, index))
    return {
      tone: 'no',
      verdict: 'Surely not.',
      because: `Bit ${missing} is not set; adding the key would have set it.`,
    }
  }
  const because = `All of its ${own.length} bits are set.`
  if (added.has(key)) return { tone: 'yes', verdict: 'Probably yes.', because: `${because} Indeed, you added it.` }
  return {
    tone: 'wrong',
    verdict: 'Probably yes.',
    because: `${because} But you never added it: this is a false positive.`,
  }
}

/** Adds ten numbered product keys that are not in the filter yet. */
export function addTen(trial: Trial): Answer {
  let missing = KEYS_AT_ONCE
  for (const key of numberedKeys()) {
    if (trial.added.has(key)) continue
    addKey(trial, key)
    if (--missing === 0) break
  }
  return { tone: 'plain', verdict: 'Added ten.', because: 'Numbered product keys that were not in the filter yet.' }
}

/** A numbered product key that the filter claims to know although it was never added, if the search finds one soon. */
export function findFalsePositive({ bloom, added }: Trial): string | undefined {
  let tries = 0
  for (const key of numberedKeys()) {
    if (!added.has(key) && bloom.has(key)) return key
    if (++tries === TRIES_MAX) break
  }
  return undefined
}

export function isSet({ words }: Pick<Bloom, 'words'>, index: number): boolean {
  return ((words[index >>> 5]! >>> (index & 31)) & 1) === 1
}

/** Two hashes may fall on one bit, so a key can have fewer bits than the filter has hashes. */
export function ownBits(bloom: Pick<Bloom, 'bits' | 'hashes' | 'seed'>, key: string): number[] {
  return [...new Set(keyIndexes(key, bloom))]
}

function* numberedKeys(): Generator<string, void> {
  for (let id = 1; ; id++) yield `/db/shop/products/${id}`
}

function bitsText(count: number): string {
  return count === 1 ? '1 bit' : `${count} bits`
}
