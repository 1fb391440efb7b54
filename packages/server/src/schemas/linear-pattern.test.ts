import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, test } from 'vitest'
import { compilePattern } from './linear-pattern.js'

describe('a pattern', () => {
  test('takes time proportional to the text, however it is nested', () => {
    const nested = compilePattern('^(a+)+$', RE2JS)
    const costOf = (length: number) => {
      const startMs = performance.now()
      expect(nested.test(`${'a'.repeat(length)}!`)).toBe(false)
      return performance.now() - startMs
    }
    // A backtracking engine takes twice as long for each additional character: 13 s for 28.
    expect(costOf(28)).toBeLessThan(5000)
    expect(costOf(200_000)).toBeLessThan(20_000)
  })

  test.each([
    ['^(?=.*\\d)\\w+$', 'looks ahead'],
    ['(?<!a)b', 'looks ahead or behind'],
    ['^(.)\\1$', 'refers to a group'],
    ['^(?<q>.)\\k<q>$', 'refers to a group'],
    ['\\p{Script_Extensions=Greek}', 'is not known'],
    ['^.{1,2000}$', 'cannot be matched'],
    ['(((x{100}){10}){10})', 'cannot be matched'],
    ['^(?:[a-z]{1,900}){1,9}$', 'cannot be matched'],
    ['a{1000}b{1000}c{1000}d{1000}e{1000}', 'steps, but at most 4096 are allowed'],
    ['[', 'Invalid regular expression'],
    ['a**', 'Invalid regular expression'],
  ])('%s is refused, with a reason', (pattern, reason) => {
    expect(() => compilePattern(pattern, RE2JS)).toThrow(reason)
  })

  test.each([
    ['^\\s$', '\u00a0', true],
    ['^\\s$', '\u2028', true],
    ['^\\S$', '\ufeff', false],
    ['^[\\S]$', '\u3000', false],
    ['^[^\\s]$', 'x', true],
    ['^.$', '\r', false],
    ['^.$', '😀', true],
    ['^\\u{1f600}$', '😀', true],
    ['^\\uD83D\\uDE00$', '😀', true],
    ['^[\\b]$', '\b', true],
    ['^\\cJ$', '\n', true],
    ['^[[:alpha:]$', '[', true],
    ['^[^]$', '\n', true],
    ['[]', 'x', false],
    ['^a$', 'a\n', false],
    ['^\\p{Lu}\\p{Script=Greek}$', 'Aα', true],
    ['^\\/\\-?$'.replace('\\-', '-'), '/', true],
    ['^(?<year>\\d{4})$', '2026', true],
    ['b', 'abc', true],
  ])('%s matches %j as in ECMAScript', (pattern, text, isMatch) => {
    expect(new RegExp(pattern, 'u').test(text)).toBe(isMatch)
    expect(compilePattern(pattern, RE2JS).test(text)).toBe(isMatch)
  })

  const atom = fc.constantFrom(
    ...[
      'a',
      'b',
      '.',
      '\\d',
      '\\D',
      '\\s',
      '\\S',
      '\\w',
      '\\W',
      '\\b',
      '[ab]',
      '[^a-c]',
      '[\\s\\d]',
      '[^\\S\\n]',
      '\\.',
      '\\u0041',
    ],
    ...['😀', '[😀-😂]', '\\n', '\\t', '-', '\\$', '^', '$', '[\\-x]', '\\x41', '[a\\]]', 'é', '\\p{L}', '\\P{Ll}'],
  )
  const { expression } = fc.letrec<{ expression: string }>(tie => ({
    expression: fc.oneof(
      { depthSize: 'small' },
      atom,
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => a + b),
      fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `(?:${a}|${b})`),
      fc
        .tuple(tie('expression'), fc.constantFrom('*', '+', '?', '{1,3}', '*?', '{2}'))
        .map(([a, each]) => `(${a})${each}`),
    ),
  }))
  const letter = fc.constantFrom(
    'a',
    'b',
    'c',
    'A',
    'é',
    '1',
    ' ',
    '\n',
    '\r',
    '\t',
    '\u00a0',
    '\u2028',
    '.',
    '-',
    '😀',
    '$',
    ']',
    '_',
  )

  test('matches what ECMAScript matches', () => {
    fc.assert(
      fc.property(expression, fc.array(letter, { maxLength: 8 }), (pattern, letters) => {
        const text = letters.join('')
        return compilePattern(pattern, RE2JS).test(text) === new RegExp(pattern, 'u').test(text)
      }),
      { numRuns: 3000, seed: 9 },
    )
  })
})
