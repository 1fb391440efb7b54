import { describe, expect, it } from 'vitest'
import { agrees, toMeasuredRate } from './measured-rate.js'

describe('a measured rate', () => {
  const measured = toMeasuredRate([990, 1010, 1000, 1005, 995], 100_000, 0.01)

  it('is the share of positives, with at least the standard error of counting', () => {
    expect(measured).toMatchObject({ rate: 0.01, positives: 5000, probes: 500_000 })
    expect(measured.standardError).toBeCloseTo(Math.sqrt(0.01 / 500_000), 6)
  })

  it('counts the spread between filters where that is larger', () => {
    expect(toMeasuredRate([500, 1500], 100_000, 0.01).standardError).toBeCloseTo(0.005, 4)
  })

  it('refutes an estimate that is off by more than allowed, and no other', () => {
    expect(agrees(0.0125, measured, 0.2).holds).toBe(false)
    expect(agrees(0.0075, measured, 0.2).holds).toBe(false)
    expect(agrees(0.0115, measured, 0.2)).toMatchObject({ holds: true, resolved: true })
  })

  it('allows three standard errors where positives are rare', () => {
    const rare = toMeasuredRate([1, 0, 2], 1_000_000, 5e-7)
    expect(agrees(5e-7, rare, 0.2)).toMatchObject({ holds: true, resolved: false })
    expect(agrees(1e-5, rare, 0.2).holds).toBe(false)
  })
})
