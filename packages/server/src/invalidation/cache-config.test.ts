import { describe, expect, test } from 'vitest'
import { readCaches, tagHeadersOf } from './cache-config.js'

const VARNISH = { name: 'edge', kind: 'varnish', url: 'http://10.0.0.5:6081' }

describe('caches', () => {
  test('of every kind are accepted with the fields that they need', () => {
    const caches = [
      {
        ...VARNISH,
        secret: 's3cret',
        sites: ['https://shop.example'],
        bans: true,
        intervalMs: 0,
        repeatAfterMs: 60_000,
      },
      { name: 's', kind: 'squid', url: 'http://10.0.0.6:3128' },
      { name: 'n', kind: 'nginx', url: 'http://10.0.0.7', secret: 'x' },
      { name: 't', kind: 'traffic-server', url: 'http://10.0.0.8:8080' },
      { name: 'f', kind: 'fastly', service: 'abc', secret: 'x', tags: true },
      { name: 'c', kind: 'cloudflare', zone: 'abc', secret: 'x', sites: ['https://shop.example'], itemsMax: 30 },
      { name: 'a', kind: 'cloudfront', distribution: 'ABC', accessKeyId: 'AK', secret: 'x', sessionToken: 'y' },
    ]
    expect(readCaches(caches)).toEqual({ caches, mistakes: [] })
  })

  test('can have their secrets in variables', () => {
    const given = [{ ...VARNISH, secretFrom: 'EDGE_SECRET' }]
    expect(readCaches(given, { EDGE_SECRET: 's3cret' })).toEqual({
      caches: [{ ...VARNISH, secret: 's3cret' }],
      mistakes: [],
    })
    expect(readCaches(given, {}).mistakes).toEqual([
      'cache "edge": the variable "EDGE_SECRET", which secretFrom names, is not set.',
    ])
  })

  test.each([
    [{}, 'They must be a list, such as [{ "name": ..., "kind": ... }].'],
    [
      [{ name: 'a', kind: 'varnsh' }],
      'cache "a": kind must be one of varnish, squid, nginx, traffic-server, fastly, cloudflare, cloudfront.',
    ],
    [[{ kind: 'squid', url: 'http://a' }], 'cache 1: it needs 1 to 63 of a-z, 0-9, - and _, as "name".'],
    [[{ ...VARNISH, name: 'The Edge' }], 'cache 1: name must be 1 to 63 of a-z, 0-9, - and _.'],
    [
      [{ name: 'edge', kind: 'varnish' }],
      'cache "edge": it needs an address such as http://10.0.0.5:6081, without a path, a user or a password, as "url".',
    ],
    [[{ ...VARNISH, bans: 'yes' }], 'cache "edge": bans must be true or false.'],
    [[{ ...VARNISH, intervalMs: '5s' }], 'cache "edge": intervalMs must be a whole number of milliseconds.'],
    [
      [{ ...VARNISH, sites: ['https://shop.example/path'] }],
      'cache "edge": sites must be a list of addresses such as ["https://shop.example"], without a path.',
    ],
    [[VARNISH, VARNISH], 'Two of them are named "edge". Give each its own name.'],
    [[{ name: 'f', kind: 'fastly', service: 'a', secret: 'x' }], 'cache "f": it needs "sites", or "tags": true.'],
    [[{ ...VARNISH, secret: 'x', secretFrom: 'X' }], 'cache "edge": it has secret and secretFrom; leave one out.'],
  ])('such as %j are refused', (value, mistake) => {
    expect(readCaches(value, { X: 'x' }).mistakes).toContain(mistake)
  })

  test('a mistake never shows what may be secret', () => {
    const secret = 'pass word'
    const given = [
      { ...VARNISH, secret },
      { ...VARNISH, name: 'b', secert: secret },
      { ...VARNISH, name: 'c', url: `http://user:${secret}@10.0.0.5` },
    ]
    const { mistakes } = readCaches(given)
    expect(mistakes).toHaveLength(3)
    expect(mistakes.join()).not.toContain(secret)
  })
})

test('answers carry tags only for caches that purge by tags', () => {
  const { caches } = readCaches([
    VARNISH,
    { name: 'f', kind: 'fastly', service: 'abc', secret: 'x', tags: true },
    { name: 'g', kind: 'fastly', service: 'def', secret: 'x', tags: true },
    { name: 'c', kind: 'cloudflare', zone: 'abc', secret: 'x', sites: ['https://shop.example'] },
  ])
  expect(tagHeadersOf(caches)).toEqual(['Surrogate-Key'])
  expect(tagHeadersOf([])).toEqual([])
})
