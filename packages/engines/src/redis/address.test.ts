import { expect, test } from 'vitest'
import { parseAddress } from './address.js'

test('an address names one Redis, or several that share everything else', () => {
  expect(parseAddress('redis://127.0.0.1:7000')).toEqual({
    urls: ['redis://127.0.0.1:7000'],
    replicas: [],
    sentinel: undefined,
    place: '127.0.0.1:7000',
  })
  expect(parseAddress('rediss://u:p,w@a:1,b,[::1]:3/2?replicas=c:4,d')).toEqual({
    urls: ['rediss://u:p,w@a:1/2', 'rediss://u:p,w@b/2', 'rediss://u:p,w@[::1]:3/2'],
    replicas: ['rediss://u:p,w@c:4/2', 'rediss://u:p,w@d/2'],
    sentinel: undefined,
    place: 'a:1,b,[::1]:3',
  })
  expect(parseAddress(['redis://a', 'redis://b:2,c', 'redis://a']).urls).toEqual([
    'redis://a',
    'redis://b:2',
    'redis://c',
  ])
})

test('an address may name sentinels, at their own port unless another is given', () => {
  const address = parseAddress('redis://u:p@a,b:7/1?sentinel=main&replicas=c:4')
  expect(address).toEqual({
    urls: ['redis://u:p@a:26379/1', 'redis://u:p@b:7/1'],
    replicas: ['redis://u:p@c:4/1'],
    sentinel: 'main',
    place: 'a:26379,b:7',
  })
})

for (const text of [
  'redis:a',
  'http://a',
  'redis://a,',
  'redis://a,,b',
  'redis://a:x',
  'redis://a:1:2,b',
  'redis://a:70000,b',
  'redis://a?sentinel=',
  'redis://a b',
]) {
  test(`${text} is refused as an address, and the message leaves out the password`, () => {
    const withPassword = text.replace('://', '://u:secret@')
    for (const given of [text, withPassword]) {
      expect(() => parseAddress(given)).toThrowError(expect.objectContaining({ code: 'STORE_UNUSABLE' }))
      expect(() => parseAddress(given)).not.toThrowError(/secret/)
    }
  })
}

test('addresses of sentinels are not mixed with other addresses', () => {
  expect(() => parseAddress(['redis://a?sentinel=x', 'redis://b'])).toThrowError(/same sentinels/)
})
