import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import { HistoryRecorder } from './history-recorder.js'
import { formatRecord, parseRecord } from './record.js'
import { isInSample } from './recorded-name.js'

function record(options: { readonly sample?: number; readonly hashPaths?: string } = {}): string[] {
  const lines: string[] = []
  const recorder = new HistoryRecorder({ clock: 'p81k', write: line => lines.push(line), ...options })
  recorder.session('k3f9', '9c1e', 7, { atUs: 3000, leastUs: 52_000, mostUs: 55_000 }, { token: 'a token' })
  recorder.write('k3f9', {
    ...{ op: 'commit', beganUs: 4000, endedUs: 5000, position: 22 },
    ...{ written: ['/db/shop/products/42', '/db/shop/products'], deleted: ['/db/shop/products/43'] },
  })
  recorder.read('k3f9', {
    ...{ path: '/db/shop/products/42', beganUs: 6000, endedUs: 7000, withinMs: 1000, version: 22, position: 23 },
    ...{ sessionPosition: 20, servedFrom: 'shared cache' },
  })
  const any = { withinMs: undefined, version: 0, position: 23, servedFrom: 'server' }
  recorder.read('k3f9', { path: '/db/shop/products/43', beganUs: 8000, endedUs: 9000, ...any })
  recorder.token('k3f9', 9500, 'another token')
  return lines
}

describe('the format', () => {
  test('has not changed: golden lines read back as they were written', () => {
    const lines = record()
    expect(lines).toEqual([
      '{"f":1,"op":"session","s":"k3f9","c":"p81k","log":"9c1e","t":3000,"lo":52000,"hi":55000,"from":"f0b89a1b28e247f0"}',
      '{"f":1,"op":"commit","s":"k3f9","b":4000,"e":5000,"at":22,"w":["/db/shop/products/42","/db/shop/products"],"d":["/db/shop/products/43"]}',
      '{"f":1,"op":"read","s":"k3f9","path":"/db/shop/products/42","b":6000,"e":7000,"within":1000,"v":22,"pos":23,"sp":20,"by":"shared cache"}',
      '{"f":1,"op":"read","s":"k3f9","path":"/db/shop/products/43","b":8000,"e":9000,"v":0,"pos":23,"by":"server"}',
      '{"f":1,"op":"token","s":"k3f9","t":9500,"token":"384ac0200f6884c0"}',
    ])
    expect(lines.map(line => formatRecord(parseRecord(line)))).toEqual(lines)
  })

  test('holds no path if there is a secret, and has the same name for the same path', () => {
    const lines = record({ hashPaths: 'a secret' })
    expect(lines.join()).not.toContain('/db')
    const [, commit, read] = lines.map(parseRecord)
    expect(commit).toMatchObject({ w: [(read as { path: string }).path, expect.stringMatching(/^[0-9a-f]{16}$/)] })
    expect(record({ hashPaths: 'another secret' })).not.toEqual(lines)
  })

  test.each([
    ['', 'it is not JSON, or it was cut off (0 characters)'],
    ['{"f":1,"op":"re', 'it is not JSON, or it was cut off (15 characters)'],
    ['[]', 'it is JSON, but not an object'],
    ['{"f":2,"op":"read"}', 'its format (f) is 2; this version of Freshet reads 1'],
    ['{"f":1,"op":"raed"}', 'op is "raed", not one of session, read, write, commit, token'],
    ['{"f":1,"op":"token","s":"a","t":0.5,"token":"x"}', 't must be a whole number, not 0.5'],
    [
      '{"f":1,"op":"read","s":"a","path":"/p","b":1,"e":2,"v":-1,"pos":0}',
      'v must be a whole number of at least 0, not -1',
    ],
    ['{"f":1,"op":"write","s":"a","b":1,"e":2,"at":3,"w":"/p"}', 'w must be a list of strings, not "/p"'],
    ['{"f":1,"op":"session","s":"a","c":"c","t":0}', 'log must be a string, not missing'],
  ])('refuses %j, and says why', (line, why) => {
    expect(() => parseRecord(line)).toThrow(
      new FreshetError('RECORDING_INVALID', `This is not a line of a recording: ${why}.`),
    )
  })
})

describe('a sample', () => {
  const paths = Array.from({ length: 20_000 }, (_, i) => `/db/shop/products/${i}`)

  test('holds about the requested share of paths, and a smaller sample is part of a larger', () => {
    const small = paths.filter(path => isInSample(path, 0.01))
    expect(small.length).toBeGreaterThan(150)
    expect(small.length).toBeLessThan(250)
    expect(small.every(path => isInSample(path, 0.1))).toBe(true)
    expect(paths.every(path => isInSample(path, 1) && !isInSample(path, 0))).toBe(true)
  })

  test('leaves out all records of a path or none, and says so', () => {
    const lines = record({ sample: 0.5 })
    expect(lines[0]).toContain('"share":0.5')
    for (const path of ['/db/shop/products/42', '/db/shop/products/43']) {
      expect(lines.filter(line => line.includes(`"${path}"`))).toHaveLength(isInSample(path, 0.5) ? 2 : 0)
    }
  })
})
