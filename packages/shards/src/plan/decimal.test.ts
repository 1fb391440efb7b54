import { describe, expect, test } from 'vitest'
import { add, compare, divide, formatDecimal, multiply, parseDecimal, plainDecimal, round } from './decimal.js'

const of = (text: string) => parseDecimal(text)!

test('numbers keep their digits', () => {
  for (const text of ['0', '-1', '12345678901234567890.10', '-0.05', '0.00']) expect(formatDecimal(of(text))).toBe(text)
  expect(parseDecimal('1e3')).toBeUndefined()
  expect(parseDecimal('NaN')).toBeUndefined()
})

test('sums, products and comparisons are exact', () => {
  expect(formatDecimal(add(of('0.1'), of('0.25')))).toBe('0.35')
  expect(formatDecimal(multiply(of('-1.5'), of('0.20')))).toBe('-0.300')
  expect(compare(of('1.0'), of('1.00'))).toBe(0)
  expect(compare(of('-2'), of('-1.99'))).toBe(-1)
  expect([plainDecimal(of('100')), plainDecimal(of('1.50')), plainDecimal(of('-0.0'))]).toEqual(['100', '1.5', '0'])
})

describe('quotients', () => {
  // The answers of PostgreSQL 15: select 10::numeric / 3, ...
  test.each([
    ['10', '3', '3.3333333333333333'],
    ['1', '3', '0.33333333333333333333'],
    ['2000', '7', '285.7142857142857143'],
    ['1', '40000', '0.000025000000000000000000'],
    ['123456789', '2', '61728394.500000000000'],
    ['-7', '2', '-3.5000000000000000'],
    ['1.50', '0.3', '5.0000000000000000'],
  ])('%s / %s is %s in PostgreSQL', (a, b, quotient) => {
    expect(formatDecimal(divide(of(a), of(b), 'postgres'))).toBe(quotient)
  })

  test('are cut off in MariaDB after whole words of nine digits', () => {
    expect(formatDecimal(divide(of('2'), of('3'), 'mariadb'))).toBe('0.666666666')
    expect(formatDecimal(divide(of('2.5'), of('3'), 'mariadb'))).toBe('0.833333333')
    expect(formatDecimal(round(of('0.66665'), 4))).toBe('0.6667')
    expect(formatDecimal(round(of('-0.66665'), 4))).toBe('-0.6667')
  })
})
