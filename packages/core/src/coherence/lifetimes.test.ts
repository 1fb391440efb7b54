import { FreshetError } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Lifetimes } from './lifetimes.js'

const EXTRA = { responseMsMax: 30, slackMs: 10 }
const create = (nowMs: number, remembered?: Uint8Array) =>
  new Lifetimes({ ...(remembered && { remembered }), nowMs, ...EXTRA })

describe('the window', () => {
  it('is the longest lifetime, the longest response time and the slack', () => {
    const lifetimes = create(0)
    lifetimes.use(100, 0)
    expect(lifetimes.windowMs(0)).toBe(140)
  })

  it('grows at once when a lifetime is raised', () => {
    const lifetimes = create(0)
    lifetimes.use(100, 0)
    lifetimes.use(500, 7)
    expect(lifetimes.windowMs(7)).toBe(540)
  })

  it('shrinks only when the last copy with the longer lifetime has died', () => {
    const lifetimes = create(0)
    lifetimes.use(500, 0)
    lifetimes.use(100, 1000)
    expect(lifetimes.windowMs(1000 + 540)).toBe(540)
    expect(lifetimes.windowMs(1000 + 541)).toBe(140)
  })

  it('stays while the clock stands still', () => {
    const lifetimes = create(5)
    lifetimes.use(500, 5)
    lifetimes.use(0, 5)
    for (let i = 0; i < 5; i++) expect(lifetimes.windowMs(5)).toBe(540)
  })

  it('counts a lifetime that a restart finds as promised a moment ago', () => {
    const before = create(0)
    const remembered = before.use(500, 0)
    const after = create(90_000, remembered)
    after.use(100, 90_000)
    expect(after.windowMs(90_000 + 540)).toBe(540)
    expect(after.windowMs(90_000 + 541)).toBe(140)
  })

  it('covers the remembered lifetimes before anything new is promised', () => {
    expect(create(0, create(0).use(500, 0)).windowMs(0)).toBe(540)
  })
})

describe('the remembered lifetimes', () => {
  it('are returned before a longer lifetime is used, and not again while nothing changes', () => {
    const lifetimes = create(0)
    expect(lifetimes.use(100, 0)).toBeDefined()
    expect(lifetimes.use(100, 10)).toBeUndefined()
    expect(lifetimes.use(200, 20)).toBeDefined()
    expect(lifetimes.use(200, 30)).toBeUndefined()
  })

  it('keep the old promise when a lifetime is lowered, and drop it later', () => {
    const lifetimes = create(0)
    lifetimes.use(500, 0)
    const lowered = lifetimes.use(100, 10)
    expect(create(20, lowered).windowMs(20)).toBe(540)
    const later = lifetimes.use(100, 2000)
    expect(create(2000, later).windowMs(2000)).toBe(140)
  })

  it.each(['', 'x', '{}', '[null]', '["5"]', '[-1]'])('are refused with a code if they are %j', text => {
    const remembered = new TextEncoder().encode(text)
    expect(() => create(0, remembered)).toThrow(FreshetError)
    expect(() => create(0, remembered)).toThrow(expect.objectContaining({ code: 'STORE_DAMAGED' }))
  })
})

it('no change is forgotten while a copy from before it is alive, through raises, lowers, restarts and standstill', () => {
  const step = fc.record({
    kind: fc.constantFrom('use', 'copy', 'restart', 'wait', 'wait'),
    lifetimeMs: fc.constantFrom(0, 50, 100, 400, 1000),
    waitMs: fc.nat(300),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), steps => {
      let realMs = 0
      let storeMs = 0
      let currentMs = 100
      let lifetimes = create(0)
      let remembered = lifetimes.use(currentMs, 0)
      /** Each copy: the store's clock when it was read, and the real time until which some cache serves it. */
      const copies: { readMs: number; deadMs: number }[] = []
      for (const { kind, lifetimeMs, waitMs } of steps) {
        // While it restarts, the store's clock stands still.
        if (kind === 'wait' || kind === 'restart') realMs += waitMs
        if (kind === 'wait') storeMs += waitMs
        if (kind === 'copy') copies.push({ readMs: storeMs, deadMs: realMs + currentMs + 40 })
        if (kind === 'restart') lifetimes = create(storeMs, remembered)
        if (kind === 'use') currentMs = lifetimeMs
        if (kind === 'use' || kind === 'restart') remembered = lifetimes.use(currentMs, storeMs) ?? remembered
        const alive = copies.filter(({ deadMs }) => realMs <= deadMs)
        for (const { readMs } of alive) expect(lifetimes.windowMs(storeMs)).toBeGreaterThanOrEqual(storeMs - readMs)
      }
    }),
    { numRuns: 300 },
  )
})
