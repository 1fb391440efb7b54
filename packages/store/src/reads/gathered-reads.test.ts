import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Key, MaybePromise, StoredValue } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { GatheredReads } from './gathered-reads.js'

function aValue(version: number): StoredValue {
  return { version, contentType: 'text/plain', body: Buffer.of(version) }
}

test('the reads of one turn are one request, each key once, and each caller owns the bytes that it gets', async () => {
  const asked: (readonly Key[])[] = []
  const reads = new GatheredReads(async keys => {
    asked.push(keys)
    return new Map<Key, MaybePromise<StoredValue>>([
      ['a', aValue(1)],
      ['b', Promise.resolve(aValue(2))],
    ])
  })
  const answers = await Promise.all(['a', 'b', 'none', 'a', 'b'].map(key => reads.get(key)))
  expect(asked).toEqual([['a', 'b', 'none']])
  expect(answers.map(value => value?.version)).toEqual([1, 2, undefined, 1, 2])
  for (const i of [0, 1]) {
    answers[i]!.body[0] = 9
    expect(answers[i + 3]!.body[0]).toBe(i + 1)
  }
  await nextTurn()
  await reads.get('a')
  expect(asked.length).toBe(2)
})

test('many keys are read in parts, and if a part fails, only its reads fail', async () => {
  const keys = Array.from({ length: 100 }, (_, i) => `${i}`)
  const parts: number[] = []
  const reads = new GatheredReads(async part => {
    parts.push(part.length)
    if (part.includes('0')) throw new Error('lost')
    return new Map(part.map(key => [key, aValue(Number(key))]))
  })
  const outcomes = await Promise.allSettled(keys.map(key => reads.get(key)))
  expect(parts.length).toBeGreaterThan(1)
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBe(parts[0])
  expect(outcomes[99]).toMatchObject({ value: { version: 99 } })
})
