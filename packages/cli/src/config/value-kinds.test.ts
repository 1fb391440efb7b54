import { describe, expect, test } from 'vitest'
import { countFrom, durationFrom, ORIGINS, oneOf, PORT, RATE, SWITCH, sizeFrom, TEXT } from './value-kinds.js'

describe('a time', () => {
  test.each([
    ['0', 0],
    ['250', 250],
    ['250ms', 250],
    ['1.5s', 1500],
    ['10m', 600_000],
    ['24h', 86_400_000],
    ['2 D', 172_800_000],
  ])('%s is %i ms', (text, ms) => {
    expect(durationFrom(0).parse(text)).toBe(ms)
  })

  test.each(['', 's', '-1s', '1w', '1.0001ms', '1e3', '10 minutes', 'NaN', '9'.repeat(20)])(
    '%j is not a time',
    text => {
      expect(durationFrom(0).parse(text)).toBeUndefined()
    },
  )

  test('is shown in the largest unit that fits, and read back the same', () => {
    const kind = durationFrom(0)
    expect([0, 250, 1500, 60_000, 5_400_000, 86_400_000].map(ms => kind.show!(ms))).toEqual([
      '0ms',
      '250ms',
      '1500ms',
      '1m',
      '90m',
      '1d',
    ])
    for (const ms of [0, 1, 999, 1000, 61_000, 7_200_000]) expect(kind.parse(kind.show!(ms))).toBe(ms)
  })

  test('has a minimum', () => {
    expect(durationFrom(1).parse('0')).toBeUndefined()
  })
})

test.each([
  ['1', 1],
  ['512B', 512],
  ['64KiB', 65_536],
  ['8mib', 8_388_608],
  ['0.5GiB', 536_870_912],
  ['8MB', undefined],
  ['8 bytes', undefined],
  ['0', undefined],
])('the size %s is %s bytes', (text, bytes) => {
  expect(sizeFrom(1).parse(text)).toBe(bytes)
  if (bytes !== undefined) expect(sizeFrom(1).parse(sizeFrom(1).show!(bytes))).toBe(bytes)
})

test.each(['', '-1', '65536', '7700.5', '0x10', '7700 ', 'http'])('%j is not a port', text => {
  expect(PORT.parse(text)).toBeUndefined()
})

test('the value that Kubernetes puts into FRESHET_PORT is refused with advice', () => {
  expect(PORT.parse('tcp://10.0.0.1:7700')).toBeUndefined()
  expect(PORT.hint!('tcp://10.0.0.1:7700')).toContain('enableServiceLinks: false')
})

test('origins are accepted in the form that browsers send, without a path', () => {
  expect(ORIGINS.parse('*')).toBe('*')
  expect(ORIGINS.parse('https://a.example, http://localhost:3000')).toEqual([
    'https://a.example',
    'http://localhost:3000',
  ])
  for (const text of ['', 'a.example', 'https://a.example/', 'https://a.example,', '**']) {
    expect(ORIGINS.parse(text)).toBeUndefined()
  }
})

test('other kinds take only the values they describe', () => {
  expect(['0', '0.001', '.5', '1', '-0.1', 'x'].map(text => RATE.parse(text))).toEqual([
    undefined,
    0.001,
    0.5,
    undefined,
    undefined,
    undefined,
  ])
  expect(['true', 'false', 'yes', '1', ''].map(text => SWITCH.parse(text))).toEqual([
    true,
    false,
    undefined,
    undefined,
    undefined,
  ])
  expect(['1', '256', '0', '257', '1.5'].map(text => countFrom(1, 256).parse(text))).toEqual([
    1,
    256,
    undefined,
    undefined,
    undefined,
  ])
  expect(oneOf('disk', 'relaxed').parse('Disk')).toBeUndefined()
  expect(oneOf('disk', 'relaxed').hint!('dsik')).toBe(' Did you mean "disk"?')
  expect(TEXT.parse('  ')).toBeUndefined()
})
