import { describe, expect, it } from 'vitest'
import { type Contender, fastest, measureSideBySide, median, speedRatio } from './side-by-side.js'

type Measure = 'add' | 'has'

/** A contender that takes its readings from a list, one per round, and writes down its turns. */
function scripted(name: string, turns: string[], script: readonly (readonly [add: number, has: number])[]) {
  let round = 0
  return {
    name,
    async round() {
      turns.push(name)
      const [add, has] = script[round++]!
      return { add, has }
    },
  } satisfies Contender<Measure>
}

async function measureThree(turns: string[] = []) {
  const contenders = [
    scripted('ours', turns, [
      [900, 900],
      [10, 5],
      [12, 5],
      [500, 5],
    ]),
    scripted('slow', turns, [
      [1, 1],
      [30, 50],
      [36, 50],
      [33, 50],
    ]),
    scripted('mixed', turns, [
      [1, 1],
      [40, 10],
      [40, 10],
      [40, 10],
    ]),
  ]
  return measureSideBySide<Measure>({ contenders, measures: ['add', 'has'], rounds: 3 })
}

describe('contenders side by side', () => {
  it('take turns in an order that rotates', async () => {
    const turns: string[] = []
    await measureThree(turns)
    expect(turns.join(' ')).toBe('ours slow mixed slow mixed ours mixed ours slow ours slow mixed')
  })

  it('are judged by the median, without the warm-up round', async () => {
    const standings = await measureThree()
    expect(standings.map(({ name, medians }) => [name, medians.add, medians.has])).toEqual([
      ['ours', 12, 5],
      ['slow', 33, 50],
      ['mixed', 40, 10],
    ])
  })

  it('have a ratio above 1 when the first is faster', async () => {
    const standings = await measureThree()
    // 30 / 10, 36 / 12 and 33 / 500: the round in which the machine was slow only for ours does not decide.
    expect(speedRatio(standings, 'ours', 'slow', 'add')).toBe(3)
    expect(speedRatio(standings, 'slow', 'ours', 'has')).toBe(0.1)
  })

  it('have a best peer for each measure', async () => {
    const standings = await measureThree()
    expect(fastest(standings, ['slow', 'mixed'], 'add')).toBe('slow')
    expect(fastest(standings, ['slow', 'mixed'], 'has')).toBe('mixed')
    expect(() => fastest(standings, [], 'add')).toThrow('no peer')
  })

  it('meet again in the final, if they are in it', async () => {
    const turns: string[] = []
    const same = (value: number) => Array.from({ length: 5 }, () => [value, value] as const)
    const contenders = [
      scripted('ours', turns, same(10)),
      scripted('near', turns, same(20)),
      scripted('far', turns, same(90)),
    ]
    const final = { rounds: 3, finalists: () => ['ours', 'near'] }
    const standings = await measureSideBySide<Measure>({ contenders, measures: ['add', 'has'], rounds: 1, final })
    expect(turns.slice(6)).toEqual(['ours', 'near', 'near', 'ours', 'ours', 'near'])
    expect(speedRatio(standings, 'ours', 'near', 'add')).toBe(2)
    expect(speedRatio(standings, 'ours', 'far', 'add')).toBe(9)
  })

  it('report each turn', async () => {
    const seen: string[] = []
    const contenders = [
      scripted(
        'only',
        [],
        [
          [1, 1],
          [1, 1],
        ],
      ),
    ]
    const onTurn = (done: number, total: number, name: string) => seen.push(`${done}/${total} ${name}`)
    await measureSideBySide<Measure>({ contenders, measures: ['add', 'has'], rounds: 1, onTurn })
    expect(seen).toEqual(['0/2 only', '1/2 only'])
  })
})

it('is the middle value, or the mean of the two middle values', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([9, 1, 5, 6])).toBe(5.5)
})
