/** The command and the stores that need no server of their own, on every line of Node that is supported. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endFreshetProcesses, startFreshet } from './freshet-process.js'
import { nodeBinary } from './node-binary.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'freshet-node-'))
/** The newest of each line. */
const VERSIONS = ['20.20.2', '22.23.3', '24.21.0', '26.10.0']

const nodes = new Map<string, string>()

beforeAll(async () => {
  const found = VERSIONS.map(async version => nodes.set(version, await nodeBinary(version)))
  await Promise.all(found)
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

/** Run in the repository, so that it finds the packages. */
const MEMORY = `
import { connect } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer } from '@freshet/server'

const store = createMemoryStore()
const server = createFreshetServer({ store })
const { url } = await server.listen({ port: 0 })
const db = await connect(url)
await db.bucket('shop/products').put('tea', { price: 4 })
console.log(process.versions.node, (await db.bucket('shop/products').get('tea')).price)
db.close()
await server.close({ graceMs: 100 })
await store.close()
`

describe.concurrent.each(VERSIONS)('on Node %s', version => {
  test('the store in memory serves what was written', async () => {
    const { stdout } = await run(nodes.get(version)!, ['--input-type=module', '--eval', MEMORY], {
      cwd: join(root, 'tests'),
    })
    expect(stdout).toBe(`${version} 4\n`)
  })

  test.each([
    ['embedded', (data: string) => ['--data', data]],
    ['SQLite', (data: string) => ['--store', `sqlite:${join(data, 'shop.db')}`]],
  ])(
    'the %s store has kept every acknowledged write when the server is killed and started again',
    async (name, options) => {
      const data = join(folder, `${name}-${version}`)
      mkdirSync(data)
      const start = () => startFreshet(['serve', '--workers', '1', ...options(data)], { node: nodes.get(version)! })
      const server = await start()
      const { headers, body } = { headers: { 'content-type': 'application/json' }, body: '{"price":4}' }
      const put = await fetch(`${server.url}/db/shop/products/tea`, { method: 'PUT', headers, body })
      expect(put.status).toBe(201)
      await server.kill()
      const again = await start()
      expect(await (await fetch(`${again.url}/db/shop/products/tea`)).json()).toEqual({ price: 4 })
      expect(await again.stop()).toBe(0)
    },
  )
})

test('the README names the newest line of Node with long-term support', async () => {
  const releases = await Promise.all(
    VERSIONS.map(async version => {
      const { stdout } = await run(nodes.get(version)!, ['--print', 'process.release.lts ?? ""'])
      return { line: version.split('.')[0]!, isLongTerm: stdout.trim() !== '' }
    }),
  )
  const newest = releases.filter(({ isLongTerm }) => isLongTerm).at(-1)!
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain(`${newest.line} is the current LTS`)
})
