import { FreshetError } from '@freshet/protocol'
import { expect, it } from 'vitest'
import { readMigrateLine } from '../migrate/migrate-line.js'
import { readGenLine } from './gen-line.js'

const URL = 'http://localhost:7700'

it('the command lines of gen and migrate are parsed', () => {
  expect(readGenLine(['--url', `${URL}/`, '--out', 'types.ts', '--check'])).toEqual({
    url: URL,
    out: 'types.ts',
    isCheck: true,
    isJson: false,
  })
  expect(readMigrateLine(['--url', URL])).toEqual({ url: URL, folder: 'migrations', isJson: false })
})

it.each([
  [[], 'Name the server: freshet gen --url http://localhost:7700'],
  [['--url', 'localhost'], '--url takes an address such as http://localhost:7700, without a path, not "localhost".'],
  [['--url'], '--url needs a value.'],
  [['--url', URL, '--url', URL], '--url is given twice. Leave one out.'],
  [['--url', URL, '--check'], '--check needs the file to check: --out FILE.'],
  [['--url', URL, '--check=yes'], '--check takes no value.'],
  [['--url', URL, 'types.ts'], 'gen takes no argument "types.ts".'],
  [['--ulr', URL], 'gen has no option --ulr. Did you mean --url?'],
])('a command line such as %j is refused with advice', (argv, message) => {
  expect(() => readGenLine(argv)).toThrow(new FreshetError('CONFIG_INVALID', message))
})
