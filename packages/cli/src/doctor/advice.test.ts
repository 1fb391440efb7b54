import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { adviceFor, FACTS_WITH_ADVICE } from './advice.js'
import { PROBES } from './examine.js'

const SHIPPED = { varnish: 'varnish/freshet.vcl', squid: 'squid/freshet.conf', nginx: 'nginx/freshet.conf' } as const

/** Facts that no configuration can change, or that need no change. */
const WITHOUT = ['backwards', 'client', 'purge-race', 'segments', 'writes']

test('every fact has lines of advice, except those that no line can change', () => {
  const facts = PROBES.map(({ fact }) => fact)
  expect(facts.filter(fact => !FACTS_WITH_ADVICE.includes(fact)).sort()).toEqual(WITHOUT)
  expect(new Set(facts).size).toBe(facts.length)
})

test('the lines about lifetimes, cache keys and Authorization are those of the shipped files', () => {
  for (const cache of ['varnish', 'squid', 'nginx'] as const) {
    const shipped = readFileSync(new URL(`../../../../deploy/${SHIPPED[cache]}`, import.meta.url), 'utf8')
    for (const fact of ['expiry', 'queries', 'age'] as const) {
      for (const line of adviceFor(fact, [cache]).flatMap(({ lines }) => lines)) {
        if (!line.startsWith('reply_header_access')) expect(shipped).toContain(line)
      }
    }
  }
})
