/** The client as somebody gets it who installs it: in a plain Node script, and in a plain Vite app in a real browser. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeInChromium, startChromium } from './chromium.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { installPackedClient, type PackedClient } from './packed-client.js'

const run = promisify(execFile)

/** What both do: write, read, list, conflict, hand the session on. Prints, or shows, one line of JSON. */
const SCENARIO = `
import { connect, within } from '@freshet/client'

export async function scenario(url, bucket) {
  const db = await connect(url, { staleness: 1_000 })
  const products = db.bucket(bucket)
  await products.put('42', { name: 'Tea', price: 4 }, { ifVersion: 'absent' })
  const p = await products.get('42')
  await products.put('42', { ...p, price: 5 }, { ifVersion: p.version })
  const conflict = await products.put('42', { price: 0 }, { ifVersion: p.version }).catch(error => error.code)
  const read = await products.get('42', { read: within(500) })
  const listed = []
  for await (const each of products.list({ prefix: '4' })) listed.push([each.id, { ...each }])
  const absent = await products.get('43')
  const other = await connect(url, { token: db.session.token, refresh: 'push' })
  const handed = await other.bucket(bucket).get('42')
  await db.bucket(bucket).patch('42', { price: 6 })
  const current = await other.bucket(bucket).get('42', { read: 'current' })
  db.close()
  other.close()
  return { read, listed, conflict, absent: absent === undefined, handed: handed.price, current: current.price }
}
`

const EXPECTED = {
  read: { name: 'Tea', price: 5 },
  listed: [['42', { name: 'Tea', price: 5 }]],
  conflict: 'VERSION_CONFLICT',
  absent: true,
  handed: 5,
  current: 6,
}

let server: MemoryServer
let packed: PackedClient

beforeAll(async () => {
  server = await startMemoryServer()
  packed = await installPackedClient()
  await writeFile(join(packed.folder, 'scenario.js'), SCENARIO)
})

afterAll(async () => {
  await packed?.remove()
  await server?.stop()
})

describe('the packed client', () => {
  test('holds what is needed to use it, and nothing of its tests', () => {
    expect(packed.files).toContain('dist/index.js')
    expect(packed.files).toContain('dist/index.d.ts')
    expect(packed.files.filter(file => /test|\.map$|tsbuildinfo|src/.test(file))).toEqual([])
  })

  test('works in a plain Node script, which ends by itself', async () => {
    const script = `import { scenario } from './scenario.js'
      console.log(JSON.stringify(await scenario(process.argv[2], 'shop/from-node')))`
    await writeFile(join(packed.folder, 'script.js'), script)
    const { stdout, stderr } = await run(process.execPath, ['script.js', server.url], {
      cwd: packed.folder,
      timeout: 60_000,
    })
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toEqual(EXPECTED)
  })
})

describeInChromium('the packed client in a Vite app', () => {
  let site: Server
  let browser: Browser

  beforeAll(async () => {
    await buildApp(packed.folder)
    site = await serve(join(packed.folder, 'dist'))
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    site?.close()
  })

  test('reads and writes across origins', async () => {
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/index.html#${server.url}`)
    await page.waitForFunction(() => document.title !== 'waiting')
    expect(problems).toEqual([])
    expect(JSON.parse(await page.title())).toEqual(EXPECTED)
  })

  test('is no more than 20 KiB, gzipped', async () => {
    const code = await loadedAtOnce(join(packed.folder, 'dist'), 'app.js')
    const gzipped = gzipSync(code).length
    console.log(`The client in a bundle: ${code.length} bytes, ${gzipped} gzipped`)
    expect(gzipped).toBeLessThan(20 * 1024)
  })
})

async function buildApp(folder: string): Promise<void> {
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><title>waiting</title><script type="module" src="/main.js"></script>',
  )
  await writeFile(
    join(folder, 'main.js'),
    `import { scenario } from './scenario.js'
    scenario(location.hash.slice(1), 'shop/from-browser').then(
      result => { document.title = JSON.stringify(result) },
      error => { document.title = JSON.stringify({ failed: String(error) }) },
    )`,
  )
  await build({
    configFile: false,
    root: folder,
    logLevel: 'silent',
    build: { outDir: 'dist', target: 'es2022', rolldownOptions: { output: { entryFileNames: 'app.js' } } },
  })
}

/** A module and all that it imports; not what it may load later (recordings, transactions). */
async function loadedAtOnce(folder: string, name: string): Promise<string> {
  const code = await readFile(join(folder, name), 'utf8')
  const imported = [...code.matchAll(/(?:from|import)\s*"\.\/([\w./-]+\.js)"/g)].map(([, path]) => path!)
  return code + (await Promise.all(imported.map(path => loadedAtOnce(folder, path)))).join('')
}

async function serve(folder: string): Promise<Server> {
  const site = createServer((request, response) => {
    const name = request.url?.endsWith('.js') ? request.url.slice(1) : 'index.html'
    readFile(join(folder, name)).then(
      body =>
        response.writeHead(200, { 'content-type': name.endsWith('js') ? 'text/javascript' : 'text/html' }).end(body),
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  return site
}
