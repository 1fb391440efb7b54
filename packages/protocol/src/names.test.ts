import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FreshetError } from './freshet-error.js'
import {
  bucketOfKey,
  checkId,
  ID_BYTES_MAX,
  idOfKey,
  keyOfPath,
  objectKey,
  parseBucketName,
  pathOfKey,
} from './names.js'

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    if (error instanceof FreshetError) return error.code
    throw error
  }
  return undefined
}

const isId = (id: string) => codeOf(() => checkId(id)) === undefined
const name = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,62}$/)
const text = fc.string({ unit: 'binary', maxLength: 40 })
const id = fc.oneof(text, fc.stringMatching(/^[A-Za-z0-9._~-]{1,40}$/)).filter(isId)

describe('paths', () => {
  test('parse to the key they were made from', () => {
    fc.assert(
      fc.property(name, name, id, (namespace, bucket, anId) => {
        const key = objectKey({ namespace, bucket, id: anId })
        expect(keyOfPath(pathOfKey(key))).toBe(key)
        expect(bucketOfKey(key)).toBe(`${namespace}/${bucket}`)
        expect(idOfKey(key)).toBe(anId)
      }),
      { numRuns: 2000 },
    )
  })

  test('have one spelling: any other spelling of the same id is refused, with the canonical one', () => {
    const hex = (character: string) =>
      [...new TextEncoder().encode(character)].map(byte => `%${byte.toString(16)}`).join('')
    fc.assert(
      fc.property(name, id, fc.nat(), (bucket, anId, choice) => {
        const canonical = pathOfKey(`ns/${bucket}/${anId}`)
        const characters = [...anId]
        const at = choice % characters.length
        const spelled = characters
          .map((character, i) => (i === at ? hex(character) : encodeURIComponent(character)))
          .join('')
        const path = `/db/ns/${bucket}/${spelled}`
        fc.pre(path !== canonical)
        try {
          keyOfPath(path)
          expect.unreachable()
        } catch (error) {
          expect(error).toMatchObject({ code: 'URL_INVALID', details: { canonical } })
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('of arbitrary text throw nothing but our errors, and what they accept is canonical', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          text,
          text.map(part => `/db/a/b/${part}`),
          fc.webPath().map(part => `/db${part}`),
        ),
        path => {
          const code = codeOf(() => keyOfPath(path))
          if (code === undefined) expect(pathOfKey(keyOfPath(path))).toBe(path)
          else expect(['URL_INVALID', 'NAME_INVALID']).toContain(code)
        },
      ),
      { numRuns: 3000 },
    )
  })

  test.each([
    '/db/a/b/..',
    '/db/a/b/%2e%2e',
    '/db/a/b/',
    '/db/a/b/%2F',
    '/db/a/b/%00',
    '/db/a/b/%5C',
    '/db/A/b',
    '/db/a',
    '/db/a/b/c/d',
    '/x/a/b',
    '/db/a/b/%',
    '/db/../b/c',
  ])('%s does not name anything', path => expect(codeOf(() => keyOfPath(path))).toMatch(/URL_INVALID|NAME_INVALID/))
})

describe('ids', () => {
  test('are as long as allowed, in bytes of UTF-8', () => {
    for (const character of ['a', 'é', '漢', '😀']) {
      const bytes = new TextEncoder().encode(character).length
      const longest = character.repeat(Math.floor(ID_BYTES_MAX / bytes))
      expect(isId(longest)).toBe(true)
      expect(isId(longest + character)).toBe(false)
    }
  })

  test('contain nothing that a proxy might change, and no half surrogate pairs', () => {
    for (const bad of ['', '.', '..', 'a/b', 'a\\b', 'a\nb', '\u0000', '\u007f', '\u0085', '\ud800'])
      expect(isId(bad)).toBe(false)
    for (const good of ['.a', '...', 'a b', '%', '?', '#', 'é', '😀', "a'b"]) expect(isId(good)).toBe(true)
  })
})

test('a bucket name has two parts', () => {
  expect(parseBucketName('shop/products')).toEqual({ namespace: 'shop', bucket: 'products' })
  for (const bad of ['shop', 'shop/', '/products', 'a/b/c', 'Shop/products', 'a/.b']) {
    expect(codeOf(() => parseBucketName(bad))).toBe('NAME_INVALID')
  }
})
