import { describe, expect, test } from 'vitest'
import { Calls } from './calls.js'
import { createGuardMemory, Guard, type GuardMemory } from './guard.js'
import type { GuardAnswer, LedgerLine, Message } from './messages.js'
import { NO_TIMESTAMP } from './timestamp.js'

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

/** A guard that has just read these ledgers, each from one of the two members before. */
function joining(lines: readonly LedgerLine[]): Guard {
  const ledgers = lines.map(line => [line])
  const sent: Message[] = []
  const calls = new Calls({
    ...{ self: 1, timeoutMs: 10, firstCall: 0, onSilent: () => {} },
    effects: { send: (_, message) => sent.push(message), after: () => {} },
    answerer: () => {},
  })
  const added = new Guard(calls, createGuardMemory(), 1000, 0)
  added.adopt({ version: 1, members: [1, 2, 3], before: [2, 3] }, 0)
  for (const [i, message] of sent.entries()) {
    if ('call' in message) calls.receive(2 + i, { answers: message.call, answer: { entries: ledgers[i]! } }, 0)
  }
  return added
}

function claim(of: Guard, by: number, tenure: number, nowMs: number, after?: number): GuardAnswer {
  const claimed = { version: 1, key: 'k', tenure, claim: 10 * by + nowMs, ...(after !== undefined && { after }) }
  const question = { kind: 'claim', ...claimed } as const
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

  test('admits the heir of a resigned holder at once, but no peer by an older resignation', () => {
    const one = guard()
    claim(one, 7, 3, 0)
    expect(claim(one, 8, 4, 1, 2)).toMatchObject({ isGranted: false })
    expect(claim(one, 8, 4, 1, 3)).toMatchObject({ isGranted: true })
  })

  test('remembers the highest committed timestamp, and reports it to the next holder', () => {
    const one = guard()
    claim(one, 7, 1, 0)
    hold(one, 7, 1, 5, 10)
    hold(one, 7, 1, 4, 20)
    expect(claim(one, 8, 2, 1020)).toMatchObject({ isGranted: true, committed: { tenure: 1, count: 5 } })
  })

  test('keeps the whole promise again after a restart, since it does not know how much was left', () => {
    const memory = createGuardMemory()
    claim(guard(memory), 7, 1, 0)
    const again = guard(memory, 5000)
    expect(claim(again, 8, 2, 5999)).toMatchObject({ isGranted: false, leftMs: 1 })
    expect(claim(again, 8, 2, 6000)).toMatchObject({ isGranted: true })
  })

  test('takes back its promise for the failed claim, and not for a later claim of the same tenure', () => {
    const one = guard()
    claim(one, 7, 1, 0)
    one.answer(7, { kind: 'release', key: 'k', claim: 71 }, 5)
    expect(claim(one, 8, 2, 6)).toMatchObject({ isGranted: false })
    one.answer(7, { kind: 'release', key: 'k', claim: 70 }, 7)
    expect(claim(one, 8, 2, 8)).toMatchObject({ isGranted: true })
  })

  test('takes over a promise to the holder of a lower tenure, and keeps it against a claimant of a higher one', () => {
    // 7 holds the key by a majority, with tenure 5; 8 got only a minority for 9. Found by a schedule of faults.
    const lines = [
      { key: 'k', tenure: 5, holder: 7, claim: 1, committed: NO_TIMESTAMP, leftMs: 800 },
      { key: 'k', tenure: 9, holder: 8, claim: 2, committed: NO_TIMESTAMP, leftMs: 0 },
    ]
    for (const ledgers of [lines, lines.toReversed()]) {
      const one = joining(ledgers)
      expect(one.isReady).toBe(true)
      expect(claim(one, 8, 10, 799)).toMatchObject({ isGranted: false, leftMs: 1 })
      expect(claim(one, 8, 10, 800)).toMatchObject({ isGranted: true })
    }
  })

  test('does not vote under another roster, or before it has read the ledgers of the one before', () => {
    const one = guard()
    expect(one.isReady).toBe(true)
    one.adopt({ version: 2, members: [1, 2, 3], before: [1, 2] }, 0)
    expect(one.isReady).toBe(false)
    expect(claim(one, 7, 1, 0)).toMatchObject({ isGranted: false, roster: { version: 2 } })
  })
})
