import { expect, test } from 'vitest'
import { listOptions } from '../config/options.js'
import { progressText } from '../terminal/progress.js'
import { COMMAND_NAMES, readCommandLine } from './command-line.js'
import { helpText } from './help.js'

const options = listOptions(4)

test.each(COMMAND_NAMES)('%s has help with an example and its exit codes', command => {
  const line = readCommandLine([command, '--help'], options)
  expect(line).toEqual({ command: 'help', topic: command })
  const text = helpText(options, command)
  expect(text).toMatch(new RegExp(`^ {2}(?:\\w+ .*\\| )?freshet ${command}`, 'm'))
  expect(text).toContain('Exit codes: 0')
  for (const each of text.split('\n')) expect(each.length).toBeLessThan(126)
})

test('help for an unknown command guesses what was meant', () => {
  expect(() => readCommandLine(['exprot', '--help'], options)).toThrow('Did you mean "export"?')
  expect(() => readCommandLine(['restor'], options)).toThrow('Did you mean "restore"?')
  expect(() => readCommandLine(['export', '--urll', 'x'], options)).toThrow('Did you mean --url?')
  expect(readCommandLine(['--port', '80', '--help'], options)).toEqual({ command: 'help' })
})

test('progress is shown with a bar if the total is known', () => {
  expect(progressText({ what: 'importing', done: 50, total: 100, at: 'a.csv' }, 3.4)).toBe(
    '[############------------]  50% importing: 50 of 100, 3 s, at a.csv',
  )
  expect(progressText({ what: 'copying', done: 7 }, 2)).toBe('copying: 7, 2 s')
})
