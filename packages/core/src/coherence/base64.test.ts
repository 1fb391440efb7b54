import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromBase64, toBase64 } from './base64.js'

it('bytes survive a round trip, even more than fit into one call', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20_000, size: 'max' }), bytes => {
      expect(fromBase64(toBase64(bytes))).toEqual(Uint8Array.from(bytes))
    }),
    { numRuns: 30 },
  )
})

it('is the ordinary base64, padded', () => {
  expect(toBase64(Uint8Array.of(251, 255, 254, 0))).toBe('+//+AA==')
})

it('text that is not base64 gives undefined, not an exception', () => {
  expect(fromBase64('%%%')).toBeUndefined()
  expect(fromBase64('ä')).toBeUndefined()
  expect(fromBase64('a')).toBeUndefined()
})
