import { expect, test } from 'vitest'
import { diffLines } from './line-diff.js'

const told = (before: string, after: string) => diffLines(before, after).map(({ sign, text }) => sign + text)

test.each([
  ['the same text', 'a\nb\n', 'a\nb', [' a', ' b']],
  ['a line more', 'a\nc\n', 'a\nb\nc\n', [' a', '+b', ' c']],
  ['a line less', 'a\nb\nc', 'a\nc', [' a', '-b', ' c']],
  ['another line', 'a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
  ['nothing before', '', 'a\n', ['+a']],
])('%s', (_, before, after, lines) => {
  expect(told(before, after)).toEqual(lines)
})

test('what is not added is the text before, what is not removed the text after', () => {
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
