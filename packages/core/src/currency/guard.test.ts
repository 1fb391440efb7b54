import { describe, expect, test } from 'vitest'
import { Calls } from './calls.js'
import { createGuardMemory, Guard, type GuardMemory } from './guard.js'
import type { GuardAnswer } from './messages.js'

const ALONE = { version: 1, members: [1], before: [] }

function guard(memory: GuardMemory = createGuardMemory(), nowMs = 0): Guard {
  const calls = new Calls({
    ...{ self: 1, timeoutMs: 10, firstCall: 0, onSilent: () => {} },
    effects: { send: () => {}, after: () => {} },
    answerer: () => {},
  })
  const added = new Guard(calls, memory, 1000, nowMs)
  added.adopt(ALONE, nowMs)
  return added
}

function claim(of: Guard, by: number, tenure: number, nowMs: number, after?: number): GuardAnswer {
  const question = { kind: 'claim', version: 1, key: 'k', tenure, ...(after !== undefined && { after }) } as const
  return of.answer(by, question, nowMs) as GuardAnswer
}

function hold(of: Guard, by: number, tenure: number, count: number, nowMs: number): GuardAnswer {
  const committed = { tenure, count }
  return of.answer(by, { kind: 'hold', version: 1, key: 'k', tenure, committed }, nowMs) as GuardAnswer
}

describe('a guard', () => {
  test('grants a tenure once, and no other while its promise runs', () => {
    const one = guard()
    expect(claim(one, 7, 1, 0)).toMatchObject({ isGranted: true })
    expect(claim(one, 8, 1, 0)).toMatchObject({ isGranted: false, tenure: 1, leftMs: 1000 })
    expect(claim(one, 8, 2, 999)).toMatchObject({ isGranted: false, leftMs: 1 })
    expect(claim(one, 8, 2, 1000)).toMatchObject({ isGranted: true })
    expect(hold(one, 7, 1, 1, 1000)).toMatchObject({ isGranted: false, tenure: 2 })
  })

  test('lets the heir of a holder that has resigned in at once, and nobody by an older resignation', () => {
    const one = guard()
    claim(one, 7, 3, 0)
    expect(claim(one, 8, 4, 1, 2)).toMatchObject({ isGranted: false })
    expect(claim(one, 8, 4, 1, 3)).toMatchObject({ isGranted: true })
  })

  test('remembers the highest timestamp that was committed, and tells the next holder', () => {
    const one = guard()
    claim(one, 7, 1, 0)
    hold(one, 7, 1, 5, 10)
    hold(one, 7, 1, 4, 20)
    expect(claim(one, 8, 2, 1020)).toMatchObject({ isGranted: true, committed: { tenure: 1, count: 5 } })
  })

  test('that restarts keeps the whole promise again, for it does not know how much was left', () => {
    const memory = createGuardMemory()
    claim(guard(memory), 7, 1, 0)
    const again = guard(memory, 5000)
    expect(claim(again, 8, 2, 5999)).toMatchObject({ isGranted: false, leftMs: 1 })
    expect(claim(again, 8, 2, 6000)).toMatchObject({ isGranted: true })
  })

  test('does not vote under another roster, or before it has read the ledgers of the one before', () => {
    const one = guard()
    expect(one.isReady).toBe(true)
    one.adopt({ version: 2, members: [1, 2, 3], before: [1, 2] }, 0)
    expect(one.isReady).toBe(false)
    expect(claim(one, 7, 1, 0)).toMatchObject({ isGranted: false, roster: { version: 2 } })
  })
})
