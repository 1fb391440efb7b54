import { FreshetError } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toBase64 } from './base64.js'
import { formatToken, parseToken } from './session-token.js'

const position = fc.maxSafeNat()
const path = fc.string({ unit: 'binary' })

it('a token restores the session, and needs no escaping in a URL', () => {
  const floors = fc.array(fc.tuple(path, position), { maxLength: 20 })
  fc.assert(
    fc.property(fc.option(fc.string({ minLength: 1 }), { nil: undefined }), position, floors, (log, reached, pairs) => {
      const session = { log, position: reached, floors: pairs.map(([name, at]) => [wellFormed(name), at] as const) }
      const token = formatToken(session)
      expect(token).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(parseToken(token)).toEqual(session)
    }),
  )
})

/** Paths are percent-encoded, so half of a surrogate pair cannot be in one. */
function wellFormed(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text))
}

it('anything else is refused with a code', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map(json => encode(json)),
    fc
      .tuple(fc.constantFrom(1, 2), fc.anything(), fc.anything(), fc.array(fc.anything()))
      .map(parts => encode(jsonOf(parts))),
  )
  fc.assert(
    fc.property(texts, text => {
      try {
        const { position: reached, floors } = parseToken(text)
        expect(Number.isSafeInteger(reached) && reached >= 0).toBe(true)
        for (const [name, at] of floors) expect([typeof name, Number.isSafeInteger(at)]).toEqual(['string', true])
      } catch (error) {
        expect(error).toBeInstanceOf(FreshetError)
        expect((error as FreshetError).code).toBe('TOKEN_INVALID')
      }
    }),
    { numRuns: 1000 },
  )
})

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))
  } catch {
    return '[]'
  }
}

it.each([
  ['another format', [2, 'log', 5, []]],
  ['a negative position', [1, 'log', -5, []]],
  ['a position that is not an integer', [1, 'log', 5.5, []]],
  ['half a floor', [1, 'log', 5, ['/db/a/b/c']]],
  ['a floor that is not a position', [1, 'log', 5, ['/db/a/b/c', '7']]],
  ['no log', [1, null, 5, []]],
])('a token with %s is refused', (_, parts) => {
  const token = encode(JSON.stringify(parts))
  expect(() => parseToken(token)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
})

/** Encodes anything the way a token is encoded. */
function encode(json: string): string {
  return toBase64(new TextEncoder().encode(json)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
