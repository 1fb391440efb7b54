import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DECIMALS_MAX } from '../store/index.js'
import { addTo } from './counter.js'
import { formatUnits, parseUnits } from './decimal.js'

describe('units', () => {
  test('are parsed from the text they were printed as', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.integer({ min: 0, max: DECIMALS_MAX }), (units, decimals) => {
        expect(parseUnits(formatUnits(units, decimals), decimals)).toBe(units + 0)
      }),
    )
  })

  test('are undefined for a text that is not such a number', () => {
    for (const text of ['', '-', '1e3', ' 1', '01', '1.', '.5', '0x1', 'NaN', '9007199254740993'])
      expect(parseUnits(text, 2)).toBe(undefined)
    expect(parseUnits('1.234', 2)).toBe(undefined)
    expect(parseUnits('-0', 0)).toBe(0)
    expect(parseUnits('1.5', 2)).toBe(150)
  })
})

describe('additions', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  const added = (text: string | undefined, by: number, bounds: { min?: number; max?: number } = {}, decimals = 0) => {
    const result = addTo({ key: 'a/b/c', by, decimals, ...bounds }, text === undefined ? undefined : bytes(text))
    return 'reason' in result ? result.reason : new TextDecoder().decode(result.body)
  }

  test('begin at 0, and may go below', () => {
    expect(added(undefined, 5)).toBe('5')
    expect(added('5', -7)).toBe('-2')
    expect(added('0.10', 20, {}, 2)).toBe('0.30')
  })

  test('stop at their bounds, but may come nearer to a bound that is broken', () => {
    expect(added('5', -6, { min: 0 })).toBe('below-min')
    expect(added('5', -5, { min: 0 })).toBe('0')
    expect(added('5', 6, { max: 10 })).toBe('above-max')
    expect(added('-9', 2, { min: 0 })).toBe('-7')
    expect(added('-9', -1, { min: 0 })).toBe('below-min')
  })

  test('are refused rather than rounded', () => {
    expect(added(`${Number.MAX_SAFE_INTEGER}`, 1)).toBe('inexact')
    expect(added('{"a":1}', 1)).toBe('no-counter')
    expect(added('0.5', 1)).toBe('no-counter')
  })
})
