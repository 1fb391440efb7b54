import { LearntLifetimes } from '@freshet/core/coherence'
import type { BucketSettings } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { completeSettings } from '../settings/server-settings.js'
import { type BucketRecord, changeRecord, longestLifetimeMs, readBucketSettings, stampPast } from './bucket-record.js'

const server = completeSettings({ lifetimeMs: 200, lifetimeMsMax: 5000, responseMsMax: 30, slackMs: 10 })
const read = (settings: unknown) => readBucketSettings(JSON.stringify(settings), server.lifetimeMsMax)

describe('settings with bounds for learnt lifetimes', () => {
  it('are accepted unchanged', () => {
    const settings = { kind: 'object', learn: { minMs: 0, maxMs: 5000 } }
    expect(read(settings)).toEqual(settings)
  })

  it.each([
    ['a maximum beyond what the server allows', { minMs: 0, maxMs: 5001 }],
    ['a minimum beyond the maximum', { minMs: 101, maxMs: 100 }],
    ['a negative bound', { minMs: -1, maxMs: 100 }],
    ['half a millisecond', { minMs: 0.5, maxMs: 100 }],
    ['no minimum', { maxMs: 100 }],
    ['no maximum', { minMs: 100 }],
    ['a third bound', { minMs: 0, maxMs: 100, medianMs: 50 }],
    ['a list', [0, 100]],
    ['a number', 100],
    ['null', null],
  ])('are refused with %s', (_, learn) => {
    expect(() => read({ kind: 'object', learn })).toThrow(expect.objectContaining({ code: 'BODY_INVALID' }))
  })

  it('cannot be combined with a fixed lifetime', () => {
    const settings = { kind: 'object', lifetimeMs: 100, learn: { minMs: 0, maxMs: 100 } }
    expect(() => read(settings)).toThrow(/cannot be combined/)
  })
})

it('the window covers every live copy while fixed and learnt lifetimes are raised and lowered', () => {
  const learn = fc
    .tuple(fc.nat(2000), fc.nat(2000))
    .map(([minMs, spanMs]) => ({ kind: 'object', learn: { minMs, maxMs: minMs + spanMs } }) as const)
  const fixed = fc.nat(3000).map(lifetimeMs => ({ kind: 'object', lifetimeMs }) as const)
  const settings: fc.Arbitrary<BucketSettings> = fc.oneof(learn, fixed, fc.constant({ kind: 'object' } as const))
  const step = fc.oneof(
    fc.record({ kind: fc.constant('configure' as const), settings, stallMs: fc.nat(1500) }),
    fc.record({ kind: fc.constant('write' as const) }),
    fc.record({ kind: fc.constant('copy' as const), isAt: fc.boolean() }),
    fc.record({ kind: fc.constant('wait' as const), waitMs: fc.nat(1500) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), steps => {
      const learnt = new LearntLifetimes({ seed: 1n, entriesMax: 4, share: 2, shareOfAge: 2 })
      let record: BucketRecord = { kind: 'object' }
      let [nowMs, position] = [0, 0]
      const copies: { readMs: number; deadMs: number }[] = []
      for (const action of steps) {
        if (action.kind === 'wait') nowMs += action.waitMs
        if (action.kind === 'configure') {
          const asked = changeRecord(record, action.settings, nowMs, server)
          nowMs += action.stallMs
          record = stampPast(asked, nowMs)
        }
        if (action.kind === 'write')
          learnt.follow({ position: ++position, timeMs: nowMs, keys: ['a'], tags: [] }, () => true)
        if (action.kind === 'copy') {
          const fixedMs = record.lifetimeMs ?? server.lifetimeMs
          const { learn: bounds } = record
          const learntMs = bounds && (action.isAt ? bounds.maxMs : learnt.lifetimeMs('a', position, nowMs, bounds))
          copies.push({ readMs: nowMs, deadMs: nowMs + (learntMs ?? fixedMs) + server.responseMsMax + server.slackMs })
        }
        const windowMs = longestLifetimeMs(record, nowMs, server) + server.responseMsMax + server.slackMs
        for (const { readMs, deadMs } of copies)
          if (nowMs <= deadMs) expect(windowMs).toBeGreaterThanOrEqual(nowMs - readMs)
      }
    }),
    { numRuns: 500 },
  )
})
