import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { readCheckLine } from './check-line.js'

function read(...argv: string[]) {
  return readCheckLine(argv)
}

describe('freshet check', () => {
  test('takes files and its own options', () => {
    const defaults = { isJson: false, isComplete: false, followMs: undefined, tracesMax: 5 }
    expect(read('a', 'b')).toEqual({ ...defaults, files: ['a', 'b'] })
    expect(read('--json', '-', '--complete', '--traces', '9')).toEqual({
      ...{ ...defaults, files: ['-'], isJson: true, isComplete: true, tracesMax: 9 },
    })
    expect(read('--follow', 'a', '--interval', '2s')).toEqual({ ...defaults, files: ['a'], followMs: 2000 })
  })

  test.each([
    [[], 'Name the recordings to check: freshet check FILES... (- for standard input).'],
    [['a', '--jsno'], 'check has no option --jsno. Did you mean --json?'],
    [['a', '--port', '80'], 'check has no option --port. To list its options: freshet check --help'],
    [['a', 'b', '--follow'], '--follow takes one file.'],
    [['a', '--interval', '1s'], '--interval needs --follow.'],
    [['a', '--follow', '--interval', 'soon'], /^--interval takes a time such as .* not "soon"\.$/],
    [['a', '--traces', 'all'], '--traces takes a whole number from 0 to 999999, not "all".'],
    [['a', '--json=yes'], '--json takes no value.'],
  ])('refuses %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(
      typeof message === 'string' ? new FreshetError('CONFIG_INVALID', message) : message,
    )
  })
})
