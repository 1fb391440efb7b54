import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { readDropLine } from './drop-line.js'

const URL_7700 = ['--url', 'http://localhost:7700']

test('names a bucket or a namespace, and a server', () => {
  const line = { url: 'http://localhost:7700', isJson: false }
  expect(readDropLine(['shop/products', ...URL_7700, '--yes'])).toEqual({ ...line, name: 'shop/products' })
  expect(readDropLine(['shop', ...URL_7700, '--yes', '--json'])).toEqual({ ...line, name: 'shop', isJson: true })
})

test.each([
  [['shop/products', ...URL_7700], /This would delete the bucket shop\/products, .* Add --yes/],
  [['shop', ...URL_7700], /This would delete every bucket of the namespace shop, .* Add --yes/],
  [[...URL_7700, '--yes'], /Name a bucket or a namespace/],
  [['shop/products', '--yes'], /Name the server/],
  [['shop/products', 'shop/orders', ...URL_7700, '--yes'], /drop takes one name, not also "shop\/orders"/],
  [['shop/products/42', ...URL_7700, '--yes'], /./],
  [['_freshet', ...URL_7700, '--yes'], /./],
])('%j is refused', (argv, message) => {
  expect(() => readDropLine(argv)).toThrow(message)
  expect(() => readDropLine(argv)).toThrow(FreshetError)
})
