import { createHash } from 'node:crypto'
import { createBloom } from '@freshet/bloom'
import fnv from 'fnv-plus'
import { describe, expect, it } from 'vitest'
import { hashFunction, hashFunctions, md5WithoutRejection } from './hash-functions.js'

const bytes = new TextEncoder().encode('/db/shop/products/42')

function indexesOf(name: string, bits: number, count: number): number[] {
  const into = new Uint32Array(count)
  hashFunction(name).writeIndexes(bytes, bits, into)
  return [...into]
}

describe.each(hashFunctions)('$name', ({ name, writeIndexes }) => {
  it('makes indexes below the number of bits, the same each time', () => {
    const indexes = indexesOf(name, 1000, 40)
    expect(Math.max(...indexes)).toBeLessThan(1000)
    expect(new Set(indexes).size).toBeGreaterThan(10)
    expect(indexesOf(name, 1000, 40)).toEqual(indexes)
  })

  it('hashes a string as its bytes', () => {
    const into = new Uint32Array(10)
    writeIndexes('/db/shop/products/42', 1000, into)
    expect([...into]).toEqual(indexesOf(name, 1000, 10))
  })
})

it('our indexes are the bits that a filter sets', () => {
  const bloom = createBloom({ bits: 1000, hashes: 7 })
  bloom.add('/db/shop/products/42')
  for (const index of indexesOf('ours', 1000, 7)) expect(bloom.words[index >>> 5]! >>> (index & 31)).toSatisfy(odd)
  function odd(word: number) {
    return (word & 1) === 1
  }
})

it('the LCG is the one of the thesis, computed in whole numbers', () => {
  let x = BigInt(fnv.fast1a32('/db/shop/products/42'))
  const expected = Array.from({ length: 5 }, () => {
    x = (25214903917n * x + 11n) % 2n ** 48n
    return Number((x >> 18n) % 1000n)
  })
  expect(indexesOf('SimpleLCG', 1000, 5)).toEqual(expected)
})

it('a digest is cut into blocks of 32 bits', () => {
  const salt = Buffer.alloc(4)
  salt.writeUInt32LE(0x9e3779b1)
  const digest = createHash('md5').update(bytes).update(salt).digest()
  const expected = [0, 4, 8, 12].map(at => digest.readUInt32LE(at) % 1000)
  const into = new Uint32Array(4)
  md5WithoutRejection.writeIndexes(bytes, 1000, into)
  expect([...into]).toEqual(expected)
})
