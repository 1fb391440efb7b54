/** Access control as an operator sets it up: rules in a file, tokens from the command, and every example of docs/guides/access.md. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { checkExamples, parseRules } from '@freshet/server/configuration'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const SECRET = 'a secret of at least thirty-two bytes'
const environment = { FRESHET_TOKEN_SECRET: SECRET }
const DOCUMENT = readFileSync(new URL('../../../docs/guides/access.md', import.meta.url), 'utf8')
const BLOCKS = [...DOCUMENT.matchAll(/```access\n(.*?)```/gs)].map(([, block]) => block!)

let folder: string
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-access-'))
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

describe('the document', () => {
  test.each(BLOCKS)('block %# does what its examples say', block => {
    const { rules, mistakes } = parseRules(block)
    expect(mistakes).toEqual([])
    expect(rules!.examples.length).toBeGreaterThan(3)
    expect(checkExamples(rules!)).toEqual([])
  })
})

describe('freshet check rules', () => {
  test('reports that a file is valid', async () => {
    const { exitCode, output } = await runFreshet(['check', 'rules', file('good.access', BLOCKS[0]!)])
    expect([exitCode, output]).toEqual([0, expect.stringContaining('all 8 examples')])
  })

  test('says which index each rule needs, and which rule has no index', async () => {
    const good = await runFreshet(['check', 'rules', file('indexed.access', BLOCKS[0]!)])
    const indexesIn = (output: string) =>
      [...output.matchAll(/^ {2}(\S+) needs the index (.*)\.$/gm)].map(([, ...rest]) => rest)
    expect(indexesIn(good.output)).toEqual([
      ['shop/orders', '{"name":"by-owner","fields":["owner"]}'],
      ['shop/posts', '{"name":"by-published","fields":["published"]}'],
      ['shop/posts', '{"name":"by-author","fields":["author"]}'],
    ])
    const unserved = file(
      'unserved.access',
      'bucket shop/x\n  read if claim.role == "a" or object.tags contains claim.sub\n',
    )
    const { exitCode, output } = await runFreshet(['check', 'rules', unserved])
    expect([exitCode, output]).toEqual([0, expect.stringContaining('shop/x has a rule that no index serves')])
  })

  test('says what is wrong, where, and what was probably meant', async () => {
    const bad = file(
      'bad.access',
      'bucket shop/x\n  raed if authenticated\n  read if clam.sub == "a"\ndeny read shop/x/1 as anyone\n',
    )
    const { exitCode, errors } = await runFreshet(['check', 'rules', bad])
    expect(exitCode).toBe(1)
    expect(errors).toContain(`${bad}:2:3: No line begins with raed. Did you mean "read"?`)
    expect(errors).toContain(`${bad}:3:11: clam is not a value. Did you mean "claim"?`)
  })

  test('says which example fails', async () => {
    const bad = file('open.access', 'bucket shop/x\n  read\ndeny read shop/x/1 as anyone\n')
    const { exitCode, errors } = await runFreshet(['check', 'rules', bad])
    expect([exitCode, errors]).toEqual([1, expect.stringContaining(`${bad}:3:1: The rules allow this`)])
  })
})

describe('freshet serve', () => {
  test('refuses to listen beyond this machine without rules', async () => {
    const { exitCode, errors } = await runFreshet(['serve', '--host', '0.0.0.0', '--port', '0'], { cwd: folder })
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('ACCESS_REQUIRED')])
  })

  test.each([
    [['--workers', '1'], 403],
    [['--workers', '1', '--insecure'], 200],
    [['--workers', '1', '--cors-origins', 'https://shop.example'], 200],
    [['--workers', '2'], 403],
  ])('without rules, %j: pages of other machines get status %i', async (args, status) => {
    const data = mkdtempSync(join(folder, 'pages-'))
    const server = await startFreshet(['serve', '--data', data, ...args])
    const ask = (origin: string) => fetch(`${server.url}/db`, { headers: { origin } })
    expect((await ask('https://shop.example')).status).toBe(status)
    expect((await ask('http://localhost:5173')).status).toBe(200)
    await server.stop()
  })

  test('no token is signed with a secret that the server would refuse', async () => {
    const made = await runFreshet(['token', '--sub', 'ann'], { environment: { FRESHET_TOKEN_SECRET: 'short' } })
    expect(made).toMatchObject({ exitCode: 2, output: '', errors: expect.stringContaining('needs at least 32') })
  })

  test('refuses rules with mistakes, and a secret that is too short', async () => {
    const bad = file('bad.access', 'bucket shop')
    const rules = await runFreshet(['serve', '--rules', bad, '--port', '0'], { cwd: folder })
    expect([rules.exitCode, rules.errors]).toEqual([2, expect.stringContaining(`${bad}:1:8`)])
    const secret = await runFreshet(['serve', '--port', '0'], {
      cwd: folder,
      environment: { FRESHET_TOKEN_SECRET: 'short' },
    })
    expect([secret.exitCode, secret.errors]).toEqual([2, expect.stringContaining('needs at least 32')])
  })

  test('serves under rules, in several processes, for tokens that the command creates', async () => {
    const rules = file('shop.access', BLOCKS[0]!)
    const args = ['serve', '--rules', rules, '--data', join(folder, 'data'), '--workers', '2', '--host', '0.0.0.0']
    const server = await startFreshet(args, { environment })
    const tokenOf = async (...more: string[]) => (await runFreshet(['token', ...more], { environment })).output.trim()
    const [ann, editor] = [await tokenOf('--sub', 'ann'), await tokenOf('--sub', 'ed', '--claims', '{"role":"editor"}')]
    const put = (path: string, value: unknown, token: string) =>
      fetch(server.url + path, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(value),
      })
    expect((await put('/db/shop/products/tea', { price: 5 }, ann)).status).toBe(403)
    expect((await put('/db/shop/products/tea', { price: 5 }, editor)).status).toBe(201)
    expect((await put('/db/shop/orders/1', { owner: 'ann' }, ann)).status).toBe(201)
    const tea = await fetch(`${server.url}/db/shop/products/tea`)
    expect([tea.status, tea.headers.get('cache-control')]).toEqual([200, expect.stringMatching(/^public/)])
    expect((await fetch(`${server.url}/db/shop/orders/1`)).status).toBe(401)
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401)
    const refused = await runFreshet(['gen', '--url', server.url], {})
    expect(refused.exitCode).toBe(0)
    expect(refused.output).not.toContain('orders')
    const admin = await tokenOf('--claims', '{"role":"admin"}')
    const all = await runFreshet(['gen', '--url', server.url], { environment: { FRESHET_TOKEN: admin } })
    expect(all.output).toContain('orders')
    await server.stop()
  })
})

test.skipIf(reasonToSkip('redis') !== undefined)(
  'a restarted worker, and a killed server that restarts with its old file, keep the rules that another host applied',
  async () => {
    const redis = await startRedis({ settings: DURABLE })
    const open = file('before.access', 'bucket shop/products\n  read\n')
    const closed = file('after.access', 'bucket shop/products\n  read if authenticated\n')
    const start = (rules: string) =>
      startFreshet(['serve', '--store', redis.url, '--rules', rules, '--workers', '2'], { environment })
    const before = await start(open)
    const after = await start(closed)
    const read = (url: string) => fetch(`${url}/db/shop/products/tea`).then(({ status }) => status)
    expect(await read(after.url)).toBe(404)
    const applied = await runFreshet(['rules', 'apply', closed, '--store', redis.url, '--json'])
    expect([applied.exitCode, JSON.parse(applied.output)]).toMatchObject([0, { hasChanged: true, wider: [] }])
    const third = await start(open)
    await third.kill()
    const workers = before.workers()
    for (const pid of workers) process.kill(pid, 'SIGKILL')
    await expect.poll(() => before.workers().some(pid => workers.includes(pid)), { timeout: 60_000 }).toBe(false)
    await expect.poll(() => read(before.url).catch(() => 0), { timeout: 60_000 }).not.toBe(0)
    const again = await start(open)
    for (const { url } of [before, after, again]) {
      for (let i = 0; i < 4; i++) expect(await read(url)).toBe(401)
    }
    await Promise.all([before.stop(), after.stop(), again.stop()])
    await redis.stop()
  },
)

test('a quota holds over several processes, and a restart', async () => {
  const rules = file(
    'quota.access',
    'quota acme objects 7\nquota * requests 1000 per day\nbucket */*\n  read, list, write\n',
  )
  const args = ['serve', '--rules', rules, '--data', join(folder, 'quota'), '--workers', '2']
  const statusesOf = async (from: number) => {
    const server = await startFreshet(args, { environment })
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        fetch(`${server.url}/db/acme/notes/${from + i}`, {
          method: 'PUT',
          // A new connection for each request, so that both processes answer.
          headers: { connection: 'close', 'content-type': 'application/json' },
          body: '{}',
        }),
      ),
    )
    await server.stop()
    return answers.map(({ status }) => status).filter(status => status === 201).length
  }
  expect(await statusesOf(0)).toBe(7)
  expect(await statusesOf(100)).toBe(0)
})

describe('freshet token', () => {
  test('says whether a token is accepted', async () => {
    const { output } = await runFreshet(['token', '--sub', 'ann', '--expires', '1h'], { environment })
    const good = await runFreshet(['token', '--inspect', output.trim(), '--json'], { environment })
    expect([good.exitCode, JSON.parse(good.output)]).toMatchObject([0, { isBelieved: true, claims: { sub: 'ann' } }])
    const other = { FRESHET_TOKEN_SECRET: 'another secret of thirty-two bytes' }
    const bad = await runFreshet(['token', '--inspect', output.trim()], { environment: other })
    expect([bad.exitCode, bad.output]).toEqual([1, expect.stringContaining('refused')])
  })

  test('signs with a private key, for a server that has the public one', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const key = file('key.pem', privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
    const publicPath = file('public.pem', publicKey.export({ type: 'spki', format: 'pem' }) as string)
    const { output } = await runFreshet(['token', '--sub', 'service', '--key', key], {})
    const { exitCode } = await runFreshet(['token', '--inspect', output.trim()], {
      environment: { FRESHET_TOKEN_PUBLIC_KEY: publicPath },
    })
    expect(exitCode).toBe(0)
  })

  test('says which arguments it needs', async () => {
    const { exitCode, errors } = await runFreshet(['token', '--sub', 'ann'], {})
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('FRESHET_TOKEN_SECRET')])
  })
})
