import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isRing, nodesOfRing } from './ring-address.js'
import { withoutPassword } from './store-kind.js'

test('commas separate nodes, except a comma within an address', () => {
  expect(isRing('ring:redis://a')).toBe(true)
  expect(isRing('redis://ring')).toBe(false)
  expect(nodesOfRing('ring:redis://a,cassandra://b1,b2:9042/k,/disk/one,./two,sqlite:./three.db')).toEqual([
    'redis://a',
    'cassandra://b1,b2:9042/k',
    '/disk/one',
    './two',
    'sqlite:./three.db',
  ])
})

test('nodes may be listed in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-ring-'))
  try {
    const path = join(folder, 'ring.json')
    writeFileSync(path, '{ "nodes": ["redis://a", { "url": "redis://b" }, "redis://c"] }')
    expect(nodesOfRing(`ring:${path}`)).toEqual(['redis://a', 'redis://b', 'redis://c'])
    for (const text of [
      '{',
      '[]',
      '{ "nodes": [1, 2, 3] }',
      '{ "nodes": ["redis://a", "redis://b", "redis://c"], "node": [] }',
      '{ "nodes": ["redis://a", "redis://b", "redis://c"], "nodes": ["redis://d", "redis://e", "redis://f"] }',
      '{ "nodes": ["redis://a", "redis://b", { "url": "redis://c", "adress": "redis://d" }] }',
    ]) {
      writeFileSync(path, text)
      expect(() => nodesOfRing(`ring:${path}`)).toThrow(/ring\.json/)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('an address that cannot be a ring is refused with the right form', () => {
  const code = { code: 'CONFIG_INVALID' }
  for (const [address, why] of [
    ['ring:redis://a,redis://b', /2 nodes, and needs at least 3/],
    ['ring:redis://a,redis://b,redis://a', /twice/],
    [
      'ring:redis://a,redis://b,postgress://c/d',
      /not the address of an engine\. Did you mean postgres:\/\/\? Write ring:/,
    ],
    ['ring:redis://a,redis://b,mongodb://c', /not the address of an engine\. Write ring:/],
    ['ring:/nowhere/ring.json', /cannot be read as JSON.*ring:redis:\/\/host1/],
  ] as const) {
    expect(() => nodesOfRing(address)).toThrow(
      expect.objectContaining({ ...code, message: expect.stringMatching(why) }),
    )
  }
})

test('no password of any node is shown', () => {
  const address = 'ring:redis://:one@a,postgres://me:two@b/c,redis://d'
  expect(withoutPassword(address)).toBe('ring:redis://:***@a,postgres://me:***@b/c,redis://d')
})
