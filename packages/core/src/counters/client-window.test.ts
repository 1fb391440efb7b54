/**
 * Clients that send, lose answers, send again, give up and are delivered twice and late, against a server that remembers
 * no more than a window does: nothing takes effect twice, and every retry in time gets its first answer.
 */
import type { OwnOperationId } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AHEAD_MS_MAX,
  type ClientWindow,
  emptyWindow,
  hasExpired,
  judgeOwn,
  rememberOwn,
  UNSETTLED_MAX,
} from './client-window.js'

const RETENTION = { retentionMs: 1000 }

interface Sent {
  readonly id: OwnOperationId
  readonly fingerprint: string
}

type Step =
  | { readonly kind: 'send'; readonly aheadMs: number }
  | { readonly kind: 'deliver'; readonly which: number; readonly isAnswered: boolean }
  | { readonly kind: 'give-up'; readonly which: number }
  | { readonly kind: 'wait'; readonly ms: number }

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('send' as const), aheadMs: fc.integer({ min: -200, max: 200 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('deliver' as const), which: fc.nat(30), isAnswered: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('give-up' as const), which: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 70_000 }) }) },
)

test('nothing takes effect twice, and a retry in time gets the first answer', () => {
  let replays = 0
  fc.assert(
    fc.property(fc.array(STEP, { maxLength: 80 }), steps => {
      replays += play(steps)
    }),
    { numRuns: 2000, seed: 20140601 },
  )
  expect(replays).toBeGreaterThan(1000)
})

function play(steps: readonly Step[]): number {
  let window: ClientWindow = emptyWindow()
  let nowMs = 100_000
  let last = 0
  let replays = 0
  const sent: Sent[] = []
  const pending = new Set<number>()
  const applied = new Map<number, number>()
  for (const step of steps) {
    if (step.kind === 'wait') nowMs += step.ms
    if (hasExpired(window, nowMs, RETENTION)) window = emptyWindow()
    if (step.kind === 'send') {
      const sequence = ++last
      pending.add(sequence)
      const settledTo = Math.min(...pending) - 1
      sent.push({
        id: { kind: 'own', client: 'c', sequence, settledTo, madeMs: nowMs + step.aheadMs },
        fingerprint: `${sequence}`,
      })
    } else if (step.kind === 'give-up') {
      const sequence = [...pending][step.which]
      if (sequence !== undefined) pending.delete(sequence)
    } else if (step.kind === 'deliver' && sent.length > 0) {
      // Any of them, even one that was answered long ago: the network may deliver it again.
      const { id, fingerprint } = sent[step.which % sent.length]!
      const judged = judgeOwn(window, id, fingerprint, nowMs, RETENTION)
      if (judged.kind === 'new') {
        expect(applied.has(id.sequence), `${id.sequence} twice`).toBe(false)
        applied.set(id.sequence, nowMs)
        rememberOwn(window, id, { fingerprint, position: nowMs, units: [], note: '' }, nowMs)
      } else if (judged.kind === 'replay') {
        replays++
        expect(judged.done.position).toBe(applied.get(id.sequence))
      } else if (pending.has(id.sequence) && nowMs - id.madeMs <= RETENTION.retentionMs) {
        expect.unreachable(`${id.sequence}, whose client waits for it, was refused: ${judged.reason}`)
      }
      if (step.isAnswered && judged.kind !== 'refused') pending.delete(id.sequence)
    }
  }
  return replays
}

describe('a window', () => {
  const own = (sequence: number, settledTo: number, madeMs = 0): OwnOperationId => ({
    ...{ kind: 'own', client: 'c', sequence, settledTo, madeMs },
  })
  const done = { fingerprint: 'x', position: 1, units: [], note: '' }

  test('recognises another request under the same id', () => {
    const window = emptyWindow()
    rememberOwn(window, own(1, 0), done, 0)
    expect(judgeOwn(window, own(1, 0), 'y', 0, RETENTION)).toEqual({ kind: 'refused', reason: 'mismatched' })
  })

  test('forgets settled operations, and no others', () => {
    const window = emptyWindow()
    for (let sequence = 1; sequence <= 1000; sequence++) {
      rememberOwn(window, own(sequence, Math.max(0, sequence - 3)), done, 0)
    }
    expect([...window.done].map(([sequence]) => sequence).sort((a, b) => a - b)).toEqual([998, 999, 1000])
    expect(judgeOwn(window, own(5, 4), 'x', 0, RETENTION)).toEqual({ kind: 'refused', reason: 'settled' })
  })

  test('refuses operations that are too old, too far ahead, or too many', () => {
    const judge = (id: OwnOperationId, window?: ClientWindow) => judgeOwn(window, id, 'x', 5000, RETENTION)
    expect(judge(own(1, 0, 3999))).toEqual({ kind: 'refused', reason: 'expired' })
    expect(judge(own(1, 0, 4000))).toEqual({ kind: 'new' })
    expect(judge(own(1, 0, 5001 + AHEAD_MS_MAX))).toEqual({ kind: 'refused', reason: 'early' })
    const full = emptyWindow()
    for (let sequence = 1; sequence <= UNSETTLED_MAX; sequence++) full.done.add(sequence, done)
    expect(judge(own(UNSETTLED_MAX + 1, 0, 5000), full)).toEqual({ kind: 'refused', reason: 'overflowing' })
    expect(judge(own(UNSETTLED_MAX + 1, 1, 5000), full)).toEqual({ kind: 'new' })
  })
})
