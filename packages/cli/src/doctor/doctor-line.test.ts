import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { readDoctorLine } from './doctor-line.js'

function read(...argv: string[]) {
  return readDoctorLine(argv, {})
}

const URL_8080 = 'http://localhost:8080'

describe('freshet doctor', () => {
  test('needs the address that readers use; everything else is optional', () => {
    const line = { through: URL_8080, server: undefined, bucket: undefined, isJson: false }
    expect(read('--through', `${URL_8080}/`)).toEqual({ ...line, purgeSecret: undefined })
    expect(
      read('--json', '--through', URL_8080, '--server', 'https://a.example', '--bucket', 'a/b', '--purge-secret', 's'),
    ).toEqual({ ...line, server: 'https://a.example', bucket: 'a/b', purgeSecret: 's', isJson: true })
  })

  test('takes the secret from a variable, which other users cannot see', () => {
    const argv = ['--through', URL_8080]
    expect(readDoctorLine(argv, { FRESHET_PURGE_SECRET: 's' })).toMatchObject({ purgeSecret: 's' })
    expect(readDoctorLine([...argv, '--purge-secret', 't'], { FRESHET_PURGE_SECRET: 's' })).toMatchObject({
      purgeSecret: 't',
    })
  })

  test.each([
    [[], /^Name what to examine: a cache, freshet doctor --through http:\/\/localhost:8080, or a store/],
    [['--thru', URL_8080], 'doctor has no option --thru. To list its options: freshet doctor --help'],
    [['--trough', URL_8080], 'doctor has no option --trough. Did you mean --through?'],
    [['--through'], '--through needs a value.'],
    [['--through', URL_8080, '--json=yes'], '--json takes no value.'],
    [['--through', URL_8080, '--through', URL_8080], '--through is given twice. Leave one out.'],
    [[URL_8080], 'doctor takes no argument "http://localhost:8080": freshet doctor --through http://localhost:8080'],
    [['--through', 'localhost'], /^--through takes an address such as .* not "localhost"\.$/],
    [['--through', `${URL_8080}/db`], /^--through takes an address .* without a path/],
    [['--through', URL_8080, '--server', 'ftp://a'], /^--server takes an address/],
    [['--through', URL_8080, '--bucket', 'a'], /^--bucket: A bucket is named as namespace\/bucket/],
    [
      ['--through', URL_8080, '--purge-secret', 'two words'],
      'A purge secret consists of printable characters, without spaces.',
    ],
  ])('refuses %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(
      typeof message === 'string' ? new FreshetError('CONFIG_INVALID', message) : message,
    )
  })
})
