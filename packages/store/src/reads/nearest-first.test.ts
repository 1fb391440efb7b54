import { expect, test } from 'vitest'
import { isSlow, nearestFirst } from './nearest-first.js'

function aReplica(name: string, answerMs: number, currentShare = 1) {
  return { name, answerMs, currentShare }
}

function order(turn: number, ...replicas: ReturnType<typeof aReplica>[]): string {
  return nearestFirst(replicas, turn)
    .map(({ name }) => name)
    .join('')
}

test('the nearest replica is asked first, and replicas that are about as near take turns', () => {
  expect(order(0, aReplica('c', 40), aReplica('a', 5), aReplica('b', 20))).toBe('abc')
  expect(order(1, aReplica('c', 40), aReplica('a', 5), aReplica('b', 20))).toBe('abc')
  const near = [aReplica('a', 0.2), aReplica('b', 0.9), aReplica('far', 30)] as const
  expect([0, 1, 2].map(turn => order(turn, ...near))).toEqual(['abfar', 'bafar', 'abfar'])
})

test('a replica that is mostly behind is asked later than one that is a little further away', () => {
  expect(order(0, aReplica('behind', 4, 0.2), aReplica('current', 10, 0.95))).toBe('currentbehind')
  expect(order(0, aReplica('behind', 4, 0.2), aReplica('far', 60, 0.95))).toBe('behindfar')
})

test('a replica that takes much longer than the primary is slow', () => {
  expect(isSlow(aReplica('a', 100), 1)).toBe(true)
  expect(isSlow(aReplica('a', 100), 50)).toBe(false)
  expect(isSlow(aReplica('a', 5), 0.3)).toBe(false)
})
