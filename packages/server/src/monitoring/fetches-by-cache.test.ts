import { expect, test } from 'vitest'
import { FetchesByCache } from './fetches-by-cache.js'

function readsBy(...headers: readonly (readonly string[])[]): Readonly<Record<string, number>> {
  const ways = new FetchesByCache()
  for (const raw of headers) ways.count(raw, 200)
  return Object.fromEntries(
    ways
      .values()
      .filter(({ value }) => value > 0)
      .map(({ labels, value }) => [/via="([^"]*)"/.exec(labels)![1]!, value]),
  )
}

test('a read is counted for the cache nearest to the server, by its name', () => {
  expect(readsBy(['Host', 'a', 'Via', '1.1 far (squid/5.7), 1.1 near-1 (Varnish/7.1)'])).toEqual({
    'near-1 (Varnish)': 1,
  })
  expect(readsBy(['via', 'HTTP/2 edge.example:80'], ['VIA', '1.0 edge.example:80'])).toEqual({ 'edge.example:80': 2 })
  expect(readsBy(['Via', '1.1 far', 'Via', '1.1 near'])).toEqual({ near: 1 })
})

test('a cache without a name is recognised by other headers, and a request without any is counted as direct', () => {
  expect(readsBy(['X-Varnish', '12'])).toEqual({ Varnish: 1 })
  expect(readsBy(['X-Forwarded-For', '10.0.0.1'], ['Forwarded', 'for=10.0.0.1'])).toEqual({ unnamed: 2 })
  expect(readsBy(['Host', 'a', 'Accept', '*/*'])).toEqual({ direct: 1 })
})

test('reads that were unchanged at the reader are counted separately', () => {
  const ways = new FetchesByCache()
  for (const status of [200, 304, 304]) ways.count([], status)
  expect(ways.values()).toEqual([
    { labels: 'via="direct",status="200"', value: 1 },
    { labels: 'via="direct",status="304"', value: 2 },
  ])
})

test('made-up names cannot break a line, and their number is bounded', () => {
  const hostile = ['1.1 a"} 1\n', '1.1 x\\', '', 'nonsense', `1.1 ${'y'.repeat(500)}`, '1.1 a (b"c)']
  for (const name of Object.keys(readsBy(...hostile.map(via => ['Via', via]))))
    expect(name).toMatch(/^[\w. ()-]{1,100}$/)
  const made = Array.from({ length: 5000 }, (_, i) => ['Via', `1.1 made-up-${i}`])
  const counted = readsBy(...made)
  expect(Object.keys(counted).length).toBeLessThan(40)
  expect(Object.values(counted).reduce((sum, reads) => sum + reads, 0)).toBe(5000)
})
