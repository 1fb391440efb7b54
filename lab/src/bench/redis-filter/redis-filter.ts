/**
 * A Bloom filter in Redis, as in the thesis (3.7.1.4): random keys, 100,000 bits, 10 hashes. Each key is looked up, which finds
 * nothing except for false positives, and then added. The bench compares it with a round trip for each bit: the thesis has
 * 6,454 operations a second, and 789.
 */
import { startRedis } from '@freshet/engines/under-test/redis'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { type FilterWay, type RedisFilterSettings, SIZE } from './redis-filter-worker.js'

const LIST = 1000
const IN_FLIGHT = 64
const ONE_MIN = 10
const LISTS_MIN = 50

interface Shown {
  readonly way: FilterWay
  readonly how: 'one after the other' | '64 at a time' | 'lists of 1,000'
  readonly keys: number
}

const BIT_BY_BIT: FilterWay = 'a round trip for each bit'
const SHOWN: readonly Shown[] = [
  { way: BIT_BY_BIT, how: 'one after the other', keys: 1000 },
  { way: BIT_BY_BIT, how: '64 at a time', keys: 4000 },
  { way: 'ours', how: 'one after the other', keys: 6000 },
  { way: 'ours', how: '64 at a time', keys: 20_000 },
  { way: 'ours', how: 'lists of 1,000', keys: 30_000 },
  { way: 'ours, of a window', how: 'one after the other', keys: 4000 },
  { way: 'ours, of a window', how: '64 at a time', keys: 10_000 },
  { way: 'ours, of a window', how: 'lists of 1,000', keys: 30_000 },
]
const ROUNDS = { full: 15, quick: 5 }

export const redisFilter: Bench = {
  async run(context) {
    const redis = await startRedis()
    try {
      return report(await measure(context, redis.url))
    } finally {
      await redis.stop()
    }
  },
}

async function measure({ quick, progress }: BenchContext, url: string): Promise<readonly Standing<'key'>[]> {
  const module = new URL('./contender-process.js', import.meta.url)
  const contenders: PreparedContender<null, 'key'>[] = []
  try {
    for (const shown of SHOWN) {
      const { way, how, keys } = shown
      const inFlight = how === '64 at a time' ? IN_FLIGHT : 1
      const settings: RedisFilterSettings = { way, url, keys, inFlight, perCall: how === 'lists of 1,000' ? LIST : 1 }
      contenders.push(await startChild<null, 'key'>({ name: nameOf(shown), module, settings }))
    }
    const rounds = quick ? ROUNDS.quick : ROUNDS.full
    return await measureSideBySide({ contenders, measures: ['key'], rounds, onTurn: progress })
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function report(standings: readonly Standing<'key'>[]): BenchResult {
  const [bitByBit] = SHOWN
  const ratioOf = (shown: Shown, peer: Shown) =>
    Number(speedRatio(standings, nameOf(shown), nameOf(peer), 'key').toPrecision(3))
  const find = (way: FilterWay, how: Shown['how']) => SHOWN.find(shown => shown.way === way && shown.how === how)!
  const one = ratioOf(find('ours', 'one after the other'), bitByBit!)
  const lists = ratioOf(find('ours', 'lists of 1,000'), bitByBit!)
  const atATime = ratioOf(find('ours', '64 at a time'), find(BIT_BY_BIT, '64 at a time'))
  return {
    summary: { ...SIZE, one, lists, atATime },
    tables: [
      {
        title: `Keys looked up and added, ${SIZE.bits} bits and ${SIZE.hashes} hashes`,
        columns: ['', '', 'keys per second', 'times a round trip for each bit'],
        rows: SHOWN.map((shown, i) => [
          shown.way,
          shown.how,
          Math.round(1e9 / standings[i]!.medians.key),
          ratioOf(shown, bitByBit!),
        ]),
      },
    ],
    notes: [
      `One after the other: ${one} times as fast as a round trip for each bit (target: ${ONE_MIN}; the thesis has 8.2). Lists of 1,000: ${lists} times (target: ${LISTS_MIN}).`,
      `With 64 at a time on both sides, so that round trips overlap: ${atATime} times.`,
      'All variants do the same work: look up a key and add it. Ours takes one round trip for that.',
    ],
  }
}

function nameOf({ way, how }: Shown): string {
  return `${way}, ${how}`
}
