import { expect, test } from 'vitest'
import { whereFrom } from './where-from.js'

test.each([
  ['browser', 0, {}],
  ['browser', 0, { age: '30' }],
  ['server', 300, {}],
  ['server', 500, { age: '0' }],
  ['server', 500, { 'cache-status': 'edge; fwd=miss; stored' }],
  ['server', 500, { age: '0', 'x-varnish': '32770', 'x-cache': 'MISS from proxy' }],
  ['shared', 500, { age: '3' }],
  ['shared', 500, { age: '0', 'cache-status': 'edge; hit; ttl=30' }],
  ['shared', 500, { 'x-cache': 'HIT from proxy' }],
  ['shared', 500, { 'x-cache-status': 'HIT' }],
  ['shared', 500, { age: '0', 'x-varnish': '32772 32771' }],
  ['shared', 500, { age: '0', 'x-varnish': '32772 32771', 'x-cache': 'MISS from proxy' }],
] as const)('the source is %s for an answer of %i bytes with %o', (source, transferSize, headers) => {
  const header = (name: string) => (headers as Record<string, string>)[name] ?? null
  expect(whereFrom({ transferSize, header })).toBe(source)
})
