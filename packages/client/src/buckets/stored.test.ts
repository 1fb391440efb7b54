import { describe, expect, expectTypeOf, test } from 'vitest'
import { attachFacts, type Facts, type Stored, versionOf } from './stored.js'

const FACTS: Facts = {
  id: '42',
  version: 7,
  served: { from: 'server', ageS: undefined, at: undefined, version: 7 },
}

describe('what a read returns', () => {
  test('has the id, the version and the source', () => {
    const stored = attachFacts({ price: 5 }, FACTS)
    expect([stored.id, stored.version, stored.served.from]).toEqual(['42', 7, 'server'])
    expect(versionOf(stored)).toBe(7)
  })

  test('is only the data when it is spread, listed, printed as JSON or compared', () => {
    const stored = attachFacts({ price: 5 }, FACTS)
    expect({ ...stored }).toEqual({ price: 5 })
    expect(Object.keys(stored)).toEqual(['price'])
    expect(JSON.stringify(stored)).toBe('{"price":5}')
    expect(stored).toEqual({ price: 5 })
    expect((stored as { price: number }).price++).toBe(5)
  })

  test('leaves fields of the same name as they are stored, and versionOf still returns the version', () => {
    const stored = attachFacts({ id: 'my own', version: 'beta' }, FACTS)
    expect({ ...stored }).toEqual({ id: 'my own', version: 'beta' })
    expectTypeOf(stored.version).toEqualTypeOf<string>()
    expect(stored.version).toBe('beta')
    expect(versionOf(stored)).toBe(7)
  })

  test("has a type with which the README's example compiles", () => {
    interface Product {
      readonly name: string
      readonly price: number
    }
    const put = (_value: Product, _options: { ifVersion: number }) => {}
    const p: Stored<Product> = attachFacts({ name: 'Tea', price: 4 }, FACTS)
    put({ ...p, price: 5 }, { ifVersion: p.version })
    expectTypeOf<Stored<Record<string, unknown>>['version']>().toEqualTypeOf<number>()
  })

  test('loses its version when it is copied, and versionOf throws', () => {
    expect(() => versionOf({ ...attachFacts({ price: 5 }, FACTS) })).toThrow('not a copy of it')
  })
})
