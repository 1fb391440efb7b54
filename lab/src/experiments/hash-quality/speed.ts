/** Figure 79 of the thesis: the time for 1 000 000 indexes, 5 for each of 200 000 keys, as a ratio to Murmur's. */
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import { measureSideBySide, speedRatio } from '../../harness/side-by-side.js'
import { hashFunctions } from './hash-functions.js'

export type SpeedMeasure = 'hash'

export interface SpeedSettings {
  readonly name: string
  readonly keys: number
  readonly seed: number
}

export interface Speed {
  readonly name: string
  /** How many times faster than Murmur; above 1, faster. */
  readonly timesMurmur: number
  readonly nanosecondsPerKey: number
}

export async function measureSpeeds(
  { quick, seed }: { readonly quick: boolean; readonly seed: number },
  onTurn: (done: number, total: number) => void,
): Promise<Speed[]> {
  const keys = quick ? 20_000 : 200_000
  const module = new URL('./speed-child.js', import.meta.url)
  const contenders: PreparedContender<unknown, SpeedMeasure>[] = []
  try {
    for (const { name } of hashFunctions) {
      contenders.push(await startChild({ name, module, settings: { name, keys, seed } satisfies SpeedSettings }))
    }
    const standings = await measureSideBySide({ contenders, measures: ['hash'], rounds: quick ? 3 : 5, onTurn })
    return standings.map(({ name, medians }) => ({
      name,
      timesMurmur: speedRatio(standings, name, 'Murmur', 'hash'),
      nanosecondsPerKey: medians.hash,
    }))
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}
