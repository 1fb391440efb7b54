import { FreshetError } from '@freshet/protocol'
import { expect, it } from 'vitest'
import { readMigrateLine } from '../migrate/migrate-line.js'
import { readGenLine } from './gen-line.js'

const URL = 'http://localhost:7700'

it('the lines of gen and migrate are read', () => {
  expect(readGenLine(['--url', `${URL}/`, '--out', 'types.ts', '--check'])).toEqual({
    url: URL,
    out: 'types.ts',
    isCheck: true,
    isJson: false,
  })
  expect(readMigrateLine(['--url', URL])).toEqual({ url: URL, folder: 'migrations', isJson: false })
})

it.each([
  [[], 'Say which server: freshet gen --url http://localhost:7700'],
  [['--url', 'localhost'], '--url takes an address such as http://localhost:7700, without a path, not "localhost".'],
  [['--url'], '--url needs a value after it.'],
  [['--url', URL, '--url', URL], '--url is given twice. Leave one out.'],
  [['--url', URL, '--check'], '--check needs the file to check: --out FILE.'],
  [['--url', URL, '--check=yes'], '--check takes no value.'],
  [['--url', URL, 'types.ts'], '"types.ts" is one word too many for gen.'],
  [['--ulr', URL], '--ulr is no option of gen. Did you mean --url?'],
])('such as %j is refused with what to do', (argv, message) => {
  expect(() => readGenLine(argv)).toThrow(new FreshetError('CONFIG_INVALID', message))
})
