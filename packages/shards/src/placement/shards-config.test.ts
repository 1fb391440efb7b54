import { expect, test } from 'vitest'
import { readShards } from './shards-config.js'

const ONE = { name: 'one', url: 'mariadb://a@h/one', from: 0 }
const TWO = { name: 'two', url: 'mariadb://a@h/two', from: 40 }
const CONFIG = { shards: [ONE, TWO], sharded: { people: 'id' } }

test('an unknown member is a mistake, at every level', () => {
  expect(readShards(CONFIG).mistakes).toEqual([])
  expect(readShards({ ...CONFIG, shraded: {} }).mistakes).toEqual([expect.stringContaining('"shraded"')])
  const { from, ...misspelt } = TWO
  expect(readShards({ ...CONFIG, shards: [ONE, { ...misspelt, form: from }] }).mistakes).toEqual([
    'Shard 2: there is no member "form"; name, url, from are known.',
  ])
  expect(readShards({ ...CONFIG, shards: [ONE, 'two'] }).config).toBeUndefined()
})
