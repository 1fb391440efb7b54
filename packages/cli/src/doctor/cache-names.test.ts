import { expect, test } from 'vitest'
import { cachesSeenIn } from './cache-names.js'

test.each([
  [{ 'x-varnish': '9 8', via: '1.1 varnish (Varnish/7.1)' }, ['Varnish']],
  [{ via: '1.1 proxy.example (squid/5.7)', 'x-cache': 'HIT from proxy.example' }, ['Squid']],
  [{ server: 'nginx/1.22.1' }, ['nginx']],
  [{ server: 'nginx', via: '1.1 varnish, 1.1 a (squid/6.1)' }, ['Varnish', 'Squid', 'nginx']],
  [{ server: 'cloudflare', 'cf-ray': '8f1-FRA' }, ['Cloudflare']],
  [{ via: '1.1 abc.cloudfront.net (CloudFront)', 'x-amz-cf-id': 'x' }, ['CloudFront']],
  [{ 'x-served-by': 'cache-fra-1', via: '1.1 varnish' }, ['Varnish', 'Fastly']],
  [{ server: 'my-nginx-like' }, []],
  [{}, []],
])('%j reveals %j', (headers, names) => {
  expect(cachesSeenIn(headers).map(({ name }) => name)).toEqual(names)
})
