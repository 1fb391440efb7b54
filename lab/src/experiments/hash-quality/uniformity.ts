/** Repeats the chi-squared test for hash functions on one kind of key. */
import { takeKeys } from '../../harness/keys.js'
import type { Random } from '../../harness/random.js'
import { ALPHA, chiSquared, pValue } from './chi-squared.js'
import type { HashFunction } from './hash-functions.js'
import { type KeyKind, keySource } from './key-kinds.js'

export interface UniformityTest {
  readonly kind: KeyKind
  readonly bits: number
}

export interface Uniformity extends UniformityTest {
  readonly name: string
  readonly tests: number
  readonly statistics: readonly number[]
  readonly pValues: readonly number[]
  /** How many tests say "not uniform". */
  readonly rejections: number
}

/** The thesis's "hashes = 100000, k = 10": ten thousand keys with ten indexes each. */
const VALUES_PER_TEST = 100_000
const HASHES = 10

/** Every function sees the same keys. `onTest` is called before each test. */
export function testUniformity(
  functions: readonly HashFunction[],
  what: UniformityTest,
  tests: number,
  random: Random,
  onTest: (done: number) => void,
): Uniformity[] {
  const source = keySource(what.kind, random.fork(`${what.kind}/${what.bits}`))
  const statistics = functions.map(() => [] as number[])
  for (let test = 0; test < tests; test++) {
    onTest(test)
    const keys = takeKeys(source, VALUES_PER_TEST / HASHES)
    for (const [i, hash] of functions.entries()) statistics[i]!.push(statisticOf(hash, keys, what.bits))
  }
  return functions.map(({ name }, i) => ({ name, ...what, tests, ...toPValues(statistics[i]!, what.bits) }))
}

function statisticOf({ writeIndexes }: HashFunction, keys: readonly Uint8Array[], bits: number): number {
  const counts = new Uint32Array(bits)
  const indexes = new Uint32Array(HASHES)
  for (let i = 0; i < keys.length; i++) {
    writeIndexes(keys[i]!, bits, indexes)
    for (let j = 0; j < HASHES; j++) counts[indexes[j]!]!++
  }
  return chiSquared(counts, VALUES_PER_TEST)
}

function toPValues(statistics: readonly number[], bits: number) {
  const pValues = statistics.map(statistic => pValue(statistic, bits))
  return { statistics, pValues, rejections: pValues.filter(p => p < ALPHA).length }
}
