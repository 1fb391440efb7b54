/** `freshet bench` against a running server, also through a cache, and with rules; and `freshet doctor` with a token. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { signToken } from '@freshet/server'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'
import { startMisbehavingCache } from './misbehaving-cache.js'

const SECRET = 'a secret of at least thirty-two bytes'
const RULES = `admin if claim.role == "admin"
bucket freshet/bench
  read, list
bucket freshet-doctor/*
  read, list
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-bench-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
afterAll(endFreshetProcesses)

/** With this few objects, each is read more than once on any machine. */
const BRIEF = ['--objects', '1', '--clients', '2', '--duration', '500ms']

test('it measures reads, conditional reads, reads through a cache and writes, and leaves nothing behind', async () => {
  const server = await startFreshet(['dev', '--no-samples', '--data', join(folder, 'data')])
  const cache = await startMisbehavingCache({ origin: server.url, graceMs: 1000, random: () => 0.99 })
  const { exitCode, output } = await runFreshet([
    'bench',
    '--url',
    server.url,
    '--through',
    cache.url,
    '--json',
    ...BRIEF,
  ])
  expect(exitCode).toBe(0)
  const { measurements } = JSON.parse(output) as { measurements: Record<string, number>[] }
  expect(measurements.map(({ what }) => what)).toEqual([
    ...['reads', 'conditional reads', 'reads through the cache', 'writes'],
  ])
  for (const { requests, p50, p90, p99, max, perSecond } of measurements) {
    expect(requests).toBeGreaterThan(0)
    expect(perSecond).toBeGreaterThan(0)
    expect([p50, p90, p99, max]).toEqual([p50, p90, p99, max].sort((a, b) => a! - b!))
  }
  expect(cache.hits).toBeGreaterThan(0)
  expect(measurements[2]!.fromCache).toBeGreaterThan(0)
  expect(measurements[0]!.fromCache).toBe(0)
  expect(await (await fetch(`${server.url}/db/freshet/bench`)).json()).toMatchObject({ items: [] })
  const text = await runFreshet(['bench', '--url', server.url, ...BRIEF])
  expect(text.output).toMatch(/per second +p50 ms +p90 ms +p99 ms +max ms +from cache\nreads +\d+/)
  await cache.stop()
  await server.stop()
})

test('with rules, both need a token, and say so', async () => {
  const rules = join(folder, 'access.rules')
  writeFileSync(rules, RULES)
  const server = await startFreshet(['dev', '--no-samples', '--data', join(folder, 'data'), '--rules', rules], {
    environment: { FRESHET_TOKEN_SECRET: SECRET },
  })
  const claims = { sub: 'root', role: 'admin' }
  const token = await signToken({ claims, audience: 'freshet', secret: SECRET, expiresMs: 60_000 })
  const bench = ['bench', '--url', server.url, '--json', ...BRIEF]
  const doctor = ['doctor', '--through', server.url, '--json']
  const without = [await runFreshet(bench), await runFreshet(doctor)]
  expect(without.map(({ exitCode }) => exitCode)).toEqual([1, 2])
  expect(without[0]!.output).toContain('Set FRESHET_TOKEN to a token for this server')
  expect(without[1]!.output).toContain('Give the doctor the token of an admin, with --token or FRESHET_TOKEN.')
  expect((await runFreshet([...bench, '--token', token])).exitCode).toBe(0)
  const examined = await runFreshet(doctor, { environment: { FRESHET_TOKEN: token } })
  expect(JSON.parse(examined.output)).toMatchObject({ isSafe: true })
  const closed = await runFreshet([...doctor, '--token', token, '--bucket', 'shop/closed'])
  expect([closed.exitCode, closed.output]).toEqual([2, expect.stringContaining('bucket shop/closed-brief')])
  await server.stop()
})

test.each([
  [['tabels', 'list'], 'Did you mean "tables"?'],
  [['tables', 'lst'], 'Did you mean "list"?'],
  [['tables', 'list', '--jsn'], 'Did you mean --json?'],
  [['shards', 'chekc'], 'Did you mean "check"?'],
  [['shards', 'init', '--confg', 'x'], 'Did you mean --config?'],
  [['config', 'serv'], 'Did you mean "serve"?'],
  [['check', 'rules', '--jsn'], 'Did you mean --json?'],
  [['doctor', '--tokn', 'x'], 'Did you mean --token?'],
  [['benhc'], 'Did you mean "bench"?'],
])('%j gets a suggestion', async (argv, guess) => {
  const { exitCode, errors } = await runFreshet(argv)
  expect([exitCode, errors]).toEqual([2, expect.stringContaining(guess)])
})
