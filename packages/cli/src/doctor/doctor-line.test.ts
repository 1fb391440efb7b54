import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { readDoctorLine } from './doctor-line.js'

function read(...argv: string[]) {
  return readDoctorLine(argv, {})
}

const URL_8080 = 'http://localhost:8080'

describe('freshet doctor', () => {
  test('needs to know where readers ask, and takes the rest as it is', () => {
    const line = { through: URL_8080, server: undefined, bucket: undefined, isJson: false }
    expect(read('--through', `${URL_8080}/`)).toEqual({ ...line, purgeSecret: undefined })
    expect(
      read('--json', '--through', URL_8080, '--server', 'https://a.example', '--bucket', 'a/b', '--purge-secret', 's'),
    ).toEqual({ ...line, server: 'https://a.example', bucket: 'a/b', purgeSecret: 's', isJson: true })
  })

  test('takes the secret from a variable, which others cannot see', () => {
    const argv = ['--through', URL_8080]
    expect(readDoctorLine(argv, { FRESHET_PURGE_SECRET: 's' })).toMatchObject({ purgeSecret: 's' })
    expect(readDoctorLine([...argv, '--purge-secret', 't'], { FRESHET_PURGE_SECRET: 's' })).toMatchObject({
      purgeSecret: 't',
    })
  })

  test.each([
    [[], /^Say where readers ask, freshet doctor --through http:\/\/localhost:8080, or which store/],
    [['--thru', URL_8080], '--thru is no option of doctor. freshet doctor --help lists them.'],
    [['--trough', URL_8080], '--trough is no option of doctor. Did you mean --through?'],
    [['--through'], '--through needs a value after it.'],
    [['--through', URL_8080, '--json=yes'], '--json takes no value.'],
    [['--through', URL_8080, '--through', URL_8080], '--through is given twice. Leave one out.'],
    [[URL_8080], '"http://localhost:8080" is one word too many: freshet doctor --through http://localhost:8080'],
    [['--through', 'localhost'], /^--through takes an address such as .* not "localhost"\.$/],
    [['--through', `${URL_8080}/db`], /^--through takes an address .* without a path/],
    [['--through', URL_8080, '--server', 'ftp://a'], /^--server takes an address/],
    [['--through', URL_8080, '--bucket', 'a'], /^--bucket: A bucket is named as namespace\/bucket/],
    [
      ['--through', URL_8080, '--purge-secret', 'two words'],
      'A purge secret has printable characters only, and no spaces.',
    ],
  ])('refuses %j', (argv, message) => {
    expect(() => read(...argv)).toThrow(
      typeof message === 'string' ? new FreshetError('CONFIG_INVALID', message) : message,
    )
  })
})
