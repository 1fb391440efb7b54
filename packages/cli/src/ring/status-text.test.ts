import type { CellsStatus } from '@freshet/cells'
import { describe, expect, test } from 'vitest'
import { statusText } from './status-text.js'

function status(ranges: CellsStatus['ranges'], partitioner: string): CellsStatus {
  const node = {
    ...{ address: 'redis://10.0.1.1', rack: 'r', dataCentre: 'eu', answerMs: 1, epoch: 1, share: 1, hints: 0 },
    ...({ state: 'up' } as const),
  }
  return {
    ...{ epoch: 3, factor: 2, partitioner, isChanging: false, ranges },
    nodes: ['a', 'b', 'c'].map(name => ({ ...node, name })),
  }
}

describe('the state of a ring', () => {
  test('shows which nodes have the replicas of each range, and merges neighbours with the same replicas', () => {
    const ranges = [
      { from: 2 ** 50, replicas: ['a', 'b'] },
      { from: 2 ** 50 + 5, replicas: ['a', 'b'] },
      { from: 2 ** 51, replicas: ['b', 'c'] },
    ]
    const lines = statusText(status(ranges, 'hash')).split('\n')
    expect(lines.slice(lines.indexOf('place from  replicas'))).toEqual([
      ...['place from  replicas', '25.00%      a, b', '50.00%      b, c'],
    ])
  })

  test('shows keys if they are in order', () => {
    const ranges = [
      { from: '', replicas: ['a', 'b'] },
      { from: 'shop/products/m', replicas: ['b', 'c'] },
    ]
    const text = statusText(status(ranges, 'ordered'))
    expect(text).toContain('the first        a, b\nshop/products/m  b, c')
  })

  test('says how many of very many ranges it leaves out', () => {
    const ranges = Array.from({ length: 100 }, (_, i) => ({ from: i, replicas: [i % 2 === 0 ? 'a' : 'b'] }))
    expect(statusText(status(ranges, 'hash'))).toContain('36 more are shown with --json.')
  })
})
