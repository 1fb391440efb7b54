import type { FreshetError } from '@freshet/protocol'
import { DEFAULT_SETTINGS } from '@freshet/server/configuration'
import { describe, expect, test } from 'vitest'
import { dumpConfig } from './dump-config.js'
import { flagOf, listOptions, variableOf } from './options.js'
import { type ConfigRead, type ConfigSources, readConfig } from './read-config.js'

const OPTIONS = listOptions(4)

function read(sources: Partial<ConfigSources> = {}, mode: 'dev' | 'serve' = 'serve'): ConfigRead {
  return readConfig(mode, OPTIONS, { flags: new Map(), environment: {}, ...sources })
}

function file(values: Readonly<Record<string, unknown>>) {
  return { file: { path: 'freshet.json', values } }
}

/** The lines of the refusal. */
function mistakes(sources: Partial<ConfigSources>): string[] {
  try {
    read(sources)
  } catch (error) {
    expect((error as FreshetError).code).toBe('CONFIG_INVALID')
    return (error as FreshetError).message.split('\n')
  }
  throw new Error('It was accepted.')
}

describe('without any option', () => {
  test('serve uses all cores and logs JSON; dev is one process with the page and samples', () => {
    expect(read().config).toMatchObject({ workers: 4, logFormat: 'json', page: false, samples: false, port: 7700 })
    expect(read({}, 'dev').config).toMatchObject({ workers: 1, logFormat: 'text', page: true, samples: true })
  })

  test('both listen on this machine only, and acknowledge a write once it is on disk', () => {
    for (const mode of ['dev', 'serve'] as const) {
      expect(read({}, mode).config).toMatchObject({ host: '127.0.0.1', durability: 'disk' })
    }
  })

  test("the server's settings have the server's own defaults", () => {
    const { mayKeep: _, ...settings } = DEFAULT_SETTINGS
    expect(read().config).toMatchObject(settings)
  })
})

describe('precedence', () => {
  const inFile = file({ port: 1, host: 'file', workers: 2, logLevel: 'off' })
  const environment = { FRESHET_PORT: '2', FRESHET_HOST: 'variable', FRESHET_WORKERS: '3' }
  const flags = new Map([
    ['port', '3'],
    ['host', 'flag'],
  ])

  test("flags win over variables, variables over the file, the file over defaults; and each value's origin is reported", () => {
    const { config, origins } = read({ ...inFile, environment, flags })
    expect(config).toMatchObject({ port: 3, host: 'flag', workers: 3, logLevel: 'off', durability: 'disk' })
    expect(origins).toMatchObject({
      port: '--port',
      host: '--host',
      workers: 'FRESHET_WORKERS',
      logLevel: 'freshet.json',
      durability: 'default',
    })
  })

  test('FRESHET_PORT wins over PORT; a variable that is empty is not set', () => {
    expect(read({ environment: { PORT: '1', FRESHET_PORT: '2' } }).origins.port).toBe('FRESHET_PORT')
    expect(read({ environment: { PORT: '1', FRESHET_PORT: '' } }).config.port).toBe(1)
  })

  test('a wrong value that is overridden does no harm', () => {
    const sources = { environment: { FRESHET_PORT: 'tcp://10.0.0.1:7700' }, flags: new Map([['port', '80']]) }
    expect(read(sources).config.port).toBe(80)
  })
})

describe('a config file', () => {
  test('may hold numbers, switches, lists, and text with units', () => {
    const values = { port: 80, page: true, corsOrigins: ['https://a.example', 'https://b.example'], lifetimeMs: '5m' }
    expect(read(file(values)).config).toMatchObject({ ...values, lifetimeMs: 300_000 })
  })

  test.each([
    [{ prot: 80 }, 'freshet.json has the key "prot", which is not an option. Did you mean "port"?'],
    [{ 'log-level': 'off' }, 'freshet.json has the key "log-level", which is not an option. Did you mean "logLevel"?'],
    [{ colour: 'red' }, 'freshet.json has the key "colour", which is not an option.'],
    [{ mayKeep: false }, 'freshet.json has the key "mayKeep", which is not an option.'],
    [{ __proto__x: 1 }, 'freshet.json has the key "__proto__x", which is not an option.'],
    [{ port: '80a' }, 'port in freshet.json takes a port from 0 (any free port) to 65535, not "80a".'],
    [{ port: null }, 'port in freshet.json takes a port from 0 (any free port) to 65535, not "null".'],
    [{ port: { a: 1 } }, 'port in freshet.json takes a port from 0 (any free port) to 65535, not "{\\"a\\":1}".'],
    [{ durability: 'dsik' }, 'durability in freshet.json takes disk or relaxed, not "dsik". Did you mean "disk"?'],
    [{ lifetimeMs: '2d' }, 'lifetimeMs (172800000ms) must not be more than lifetimeMsMax (86400000ms).'],
  ])('with a mistake such as %o is refused', (values, line) => {
    expect(mistakes(file(values))).toEqual([line])
  })

  test('has all its mistakes reported at once', () => {
    expect(mistakes({ ...file({ prot: 1, workers: 0 }), environment: { FRESHET_HSOT: 'x' } })).toEqual([
      'The variable FRESHET_HSOT is not an option. Did you mean FRESHET_HOST?',
      'freshet.json has the key "prot", which is not an option. Did you mean "port"?',
      'workers in freshet.json takes a whole number from 1 to 256, not "0".',
    ])
  })
})

test('variables of other programs that only begin like ours are ignored', () => {
  const environment = {
    FRESHET_SERVICE_HOST: '10.0.0.1',
    FRESHET_PORT_7700_TCP_ADDR: '10.0.0.1',
    FRESHET_SKIP: 'redis',
  }
  expect(read({ environment }).config.port).toBe(7700)
})

test('every option has one name in three spellings, and no two options share one', () => {
  const names = Object.keys(OPTIONS)
  expect(flagOf('lifetimeMsMax')).toBe('lifetime-ms-max')
  expect(variableOf('lifetimeMsMax')).toBe('FRESHET_LIFETIME_MS_MAX')
  expect(new Set(names.map(variableOf)).size).toBe(names.length)
})

test('the dump has one line for each option: name, value, origin', () => {
  const lines = dumpConfig(read({ environment: { PORT: '81' } }), OPTIONS)
    .trimEnd()
    .split('\n')
  expect(lines).toHaveLength(Object.keys(OPTIONS).length)
  expect(lines.map(line => line.split(/\s{2,}/))).toContainEqual(['port', '81', 'PORT'])
  expect(lines.map(line => line.split(/\s{2,}/))).toContainEqual(['lifetimeMs', '1m', 'default'])
})

describe('caches', () => {
  const edge = { name: 'edge', kind: 'varnish', url: 'http://10.0.0.5:6081' }

  test('are a list in the file, or JSON in a variable; their secrets may be in variables of their own', () => {
    const environment = { EDGE_SECRET: 's3cret' }
    expect(read({ ...file({ caches: [{ ...edge, secretFrom: 'EDGE_SECRET' }] }), environment }).config.caches).toEqual([
      { ...edge, secret: 's3cret' },
    ])
    expect(read({ environment: { FRESHET_CACHES: JSON.stringify([edge]) } }).config.caches).toEqual([edge])
    expect(read(file({ caches: [] })).config.caches).toEqual([])
  })

  test('are shown by name only', () => {
    const dump = dumpConfig(read(file({ caches: [{ ...edge, secret: 's3cret' }] })), OPTIONS)
    expect(dump).toContain('edge (varnish)')
    expect(dump).not.toContain('s3cret')
  })

  test('have every mistake reported with its place, and without secrets', () => {
    const caches = [
      { ...edge, secret: 's3cret', ulr: 's3cret' },
      { name: 'cdn', kind: 'fastly', service: 'abc', secretFrom: 'FASTLY_KEY', tags: true },
    ]
    const lines = mistakes(file({ caches }))
    expect(lines).toEqual([
      'caches in freshet.json: cache "edge": there is no field "ulr"; varnish accepts ' +
        'name, kind, intervalMs, repeatAfterMs, url, secret, sites, bans, secretFrom.',
      'caches in freshet.json: cache "cdn": the variable "FASTLY_KEY", which secretFrom names, is not set.',
    ])
    expect(mistakes({ environment: { FRESHET_CACHES: '[{"secret":"s3cret"' } })).toEqual([
      'FRESHET_CACHES: The list of caches must be JSON.',
    ])
  })
})
