import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { listOptions } from '../config/options.js'
import { readCommandLine } from './command-line.js'
import { helpText } from './help.js'

const OPTIONS = listOptions(4)

function read(...argv: string[]) {
  return readCommandLine(argv, OPTIONS)
}

describe('a command line', () => {
  test('names a command and its flags, in any order', () => {
    const flags = new Map([
      ['port', '80'],
      ['log-level', 'off'],
    ])
    expect(read('serve', '--port', '80', '--log-level=off')).toEqual({ command: 'serve', flags })
    expect(read('--port', '80', 'serve', '--log-level=off')).toEqual({ command: 'serve', flags })
  })

  test('switches are turned on and off', () => {
    expect(read('dev', '--page', '--no-samples')).toMatchObject({
      flags: new Map([
        ['page', 'true'],
        ['samples', 'false'],
      ]),
    })
  })

  test('config shows what serve or dev would use', () => {
    expect(read('config')).toEqual({
      command: 'config',
      mode: 'serve',
      isDumped: false,
      isJson: false,
      flags: new Map(),
    })
    expect(read('config', 'dev', '--dump', '--config', 'a.json')).toEqual({
      command: 'config',
      mode: 'dev',
      isDumped: true,
      isJson: false,
      flags: new Map(),
      configPath: 'a.json',
    })
  })

  test.each([[[]], [['--help']], [['-h']], [['help']], [['serve', '--help']]])('%j asks for help', argv => {
    expect(read(...argv)).toMatchObject({ command: 'help' })
  })

  test.each([[['--version']], [['-v']], [['version']]])('%j asks for the version', argv => {
    expect(read(...argv)).toEqual({ command: 'version' })
  })
})

describe('a mistake', () => {
  test.each([
    [['serv'], '"serv" is not a command. Did you mean "serve"?'],
    [['destroy'], '"destroy" is not a command. To list the commands: freshet --help'],
    [
      ['--port', '80'],
      'Name a command: freshet dev, serve, config, check, doctor, migrate, gen, copy, token, rules, export, import, drop, backup, restore, init, tables, shards, ring, bench.',
    ],
    [['dev', '--prot', '80'], '--prot is not an option. Did you mean --port?'],
    [['dev', '--colour', 'red'], '--colour is not an option. To list the options: freshet --help'],
    [['dev', '-p', '80'], '-p is not an option. To list the options: freshet --help'],
    [['dev', '--lifetime', '5m'], '--lifetime is not an option. Did you mean --lifetime-ms?'],
    [['dev', '--port'], '--port needs a value.'],
    [['dev', '--port', '--host', 'x'], '--port needs a value.'],
    [['dev', '--port', '80', '--port', '81'], '--port is given twice. Leave one out.'],
    [['dev', '--page', '--no-page'], '--page is given twice. Leave one out.'],
    [['dev', '--no-port'], '--no-port is not an option. To list the options: freshet --help'],
    [['dev', '7700'], 'There is no argument "7700". Options begin with two dashes.'],
    [['dev', '--dump'], 'Only config takes --dump: freshet config dev --dump'],
    [['config', 'dve'], 'config shows the configuration of serve or dev, not of "dve". Did you mean "dev"?'],
  ])('such as %j is refused with advice', (argv, message) => {
    expect(() => read(...argv)).toThrow(new FreshetError('CONFIG_INVALID', message))
  })
})

test('the help lists the common options with their defaults, and fits a terminal of 120', () => {
  const help = helpText(OPTIONS)
  for (const part of ['freshet dev', '--port N', '--[no-]page', '(dev 1, serve 4)', 'Exit codes:']) {
    expect(help).toContain(part)
  }
  expect(Math.max(...help.split('\n').map(line => line.length))).toBeLessThanOrEqual(120)
})
