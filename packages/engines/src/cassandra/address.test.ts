import { expect, test } from 'vitest'
import { checkOverlap, type Level, parseAddress } from './address.js'

test('an address names the nodes, and options that are left out have defaults', () => {
  const full = 'cassandra://me:p%40ss@a,b,c:9043/shop?name=one&replication=5&read=one&write=all&dc=east&tls=true'
  expect(parseAddress(full)).toEqual({
    ...{ hosts: ['a', 'b', 'c'], port: 9043, keyspace: 'shop', name: 'one', replication: 5, read: 'one', write: 'all' },
    readsNearest: false,
    ...{ dc: 'east', user: 'me', password: 'p@ss', isEncrypted: true, place: 'a,b,c:9043/shop' },
  })
  expect(parseAddress('cassandra://a')).toMatchObject({
    ...{ hosts: ['a'], port: 9042, keyspace: 'freshet', name: 'main', replication: 1, read: 'quorum', write: 'quorum' },
  })
  expect(parseAddress('cassandra://a:1,b:1,c,d/x')).toMatchObject({
    hosts: ['a', 'b', 'c', 'd'],
    port: 1,
    replication: 3,
  })
})

test('an address that cannot be parsed is refused, and the message leaves out the password', () => {
  const mistakes = {
    'cassandra://': /should be like/,
    'cassandra://me:secret@a/B': /"B" cannot be a keyspace/,
    'cassandra://a:1,b:2/x': /same port/,
    'cassandra://me:secret@a/x?reads=one': /no option reads/,
    'cassandra://a/x?read=two': /read should be one of one, quorum, all/,
    'cassandra://a/x?replication=0': /whole number from 1/,
  }
  for (const [url, message] of Object.entries(mistakes)) {
    expect(() => parseAddress(url), url).toThrow(expect.objectContaining({ code: 'STORE_UNUSABLE' }))
    expect(() => parseAddress(url), url).toThrow(message)
    expect(() => parseAddress(url), url).not.toThrow(/secret/)
  }
})

test('levels are accepted if every read sees every earlier write', () => {
  const isTaken = (read: Level, write: Level, copies: number) => {
    try {
      checkOverlap({ ...parseAddress('cassandra://a'), read, write }, copies)
      return true
    } catch {
      return false
    }
  }
  const levels: readonly Level[] = ['one', 'quorum', 'all']
  const taken = (copies: number) =>
    levels.flatMap(read => levels.filter(write => isTaken(read, write, copies)).map(write => `${read} ${write}`))
  expect(taken(3)).toEqual(['one all', 'quorum quorum', 'quorum all', 'all one', 'all quorum', 'all all'])
  expect(taken(1).length).toBe(9)
})
