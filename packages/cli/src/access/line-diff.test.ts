import { expect, test } from 'vitest'
import { diffLines } from './line-diff.js'

const signed = (before: string, after: string) => diffLines(before, after).map(({ sign, text }) => sign + text)

test.each([
  ['the same text', 'a\nb\n', 'a\nb', [' a', ' b']],
  ['an added line', 'a\nc\n', 'a\nb\nc\n', [' a', '+b', ' c']],
  ['a removed line', 'a\nb\nc', 'a\nc', [' a', '-b', ' c']],
  ['a changed line', 'a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
  ['an empty text before', '', 'a\n', ['+a']],
])('%s', (_, before, after, lines) => {
  expect(signed(before, after)).toEqual(lines)
})

test('the lines that are not added make the text before, those that are not removed the text after', () => {
  const texts = ['a b a c a', 'b a c c', 'x', 'a a a a b', ''].map(text => text.split(' ').join('\n'))
  for (const before of texts) {
    for (const after of texts) {
      const lines = diffLines(before, after)
      const without = (sign: string) => lines.filter(line => line.sign !== sign).map(line => line.text)
      expect(without('+').join('\n')).toBe(before)
      expect(without('-').join('\n')).toBe(after)
    }
  }
})
