/** The client as users install it: in a plain Node script, and in a plain Vite app in a real browser. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeInChromium, startChromium } from './chromium.js'
import { type MemoryServer, startMemoryServer } from './memory-server.js'
import { installPackedClient, type PackedClient } from './packed-client.js'

const run = promisify(execFile)

/** Both apps do this: write, read, list, conflict, hand the session on. They print, or show, one line of JSON. */
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

/** The same for the import path of entities: persist, load, follow a reference, conflict, transaction. */
const ENTITIES = `
import { connect } from '@freshet/client'
import { createEntityManager, entity, idOf, Reference } from '@freshet/client/entities'

export async function entities(url, bucket) {
  class Coffee {
    constructor(name, parent) {
      this.name = name
      this.parent = parent && Reference.to(parent)
    }
  }
  entity(Coffee, bucket, { references: { parent: () => Coffee }, cascade: { parent: ['persist'] } })
  const db = await connect(url)
  const em = createEntityManager(db)
  const coffee = new Coffee('Finest', new Coffee('Arabica', null))
  em.persist(coffee)
  await em.flush()
  const id = idOf(coffee)
  await em.clear()
  const loaded = await em.find(Coffee, id)
  const parent = await loaded.parent.get()
  const same = loaded === (await em.find(Coffee, id)) && loaded !== coffee
  await em.transaction(async em => {
    const mine = await em.find(Coffee, id)
    mine.name = 'Selection'
  })
  loaded.name = 'Premium'
  const conflict = await em.flush().catch(error => [error.code, error.details.entities[0] === loaded])
  await em.refresh(loaded)
  db.close()
  return { isCoffee: loaded instanceof Coffee, parent: parent.name, same, conflict, name: loaded.name }
}
`

const ENTITIES_EXPECTED = {
  isCoffee: true,
  parent: 'Arabica',
  same: true,
  conflict: ['COMMIT_CONFLICT', true],
  name: 'Selection',
}

/** Everything that a program can import from this path, including a second copy of what it shares with the client. */
const ENTITIES_DOOR = `
import * as entities from '@freshet/client/entities'
globalThis.entities = entities
`

/** A page that keeps its writes in localStorage, for a test to use. */
const OUTBOX = `
import { connect } from '@freshet/client'
globalThis.db = await connect(location.hash.slice(1), { outbox: localStorage })
document.title = 'connected'
`

let server: MemoryServer
let packed: PackedClient

beforeAll(async () => {
  server = await startMemoryServer()
  packed = await installPackedClient()
  await writeFile(join(packed.folder, 'scenario.js'), SCENARIO)
  await writeFile(join(packed.folder, 'entities.js'), ENTITIES)
})

afterAll(async () => {
  await packed?.remove()
  await server?.stop()
})

describe('the packed client', () => {
  test('contains everything needed to use it, and none of its tests', () => {
    expect(packed.files).toContain('dist/index.js')
    expect(packed.files).toContain('dist/index.d.ts')
    expect(packed.files).toContain('dist/entities/index.js')
    expect(packed.files).toContain('dist/entities/index.d.ts')
    expect(packed.files.filter(file => /\btest|\.map$|tsbuildinfo|src/.test(file))).toEqual([])
  })

  test('has all of it in one module as well, which imports nothing and is within its size limit', async () => {
    const code = await readFile(join(packed.folder, 'node_modules/@freshet/client/dist/browser/client.js'), 'utf8')
    expect(code).not.toMatch(/\bimport\b *["'{(*]|\bfrom *["']/)
    const script = `import * as whole from '@freshet/client'
      import * as browser from '@freshet/client/browser'
      console.log(JSON.stringify([Object.keys(whole), Object.keys(browser)]))`
    await writeFile(join(packed.folder, 'both.js'), script)
    const { stdout } = await run(process.execPath, ['both.js'], { cwd: packed.folder })
    const [whole, browser] = JSON.parse(stdout) as [string[], string[]]
    expect(browser).toEqual(whole)
    expect(whole).toContain('connect')
    const gzipped = gzipSync(code).length
    console.log(`The client as one module: ${code.length} bytes, ${gzipped} gzipped`)
    expect(gzipped).toBeLessThan(40 * 1024)
  })

  test('works in a plain Node script, which exits by itself', async () => {
    expect(await runInNode('scenario', 'shop/from-node')).toEqual(EXPECTED)
  })

  test('and so do its entities', async () => {
    expect(await runInNode('entities', 'shop/entities-from-node')).toEqual(ENTITIES_EXPECTED)
  })
})

describeInChromium('the packed client in a Vite app', () => {
  let site: Server
  let browser: Browser

  beforeAll(async () => {
    for (const name of ['scenario', 'entities'] as const) {
      await buildApp(
        packed.folder,
        name,
        `import { ${name} } from './${name}.js'
        ${name}(location.hash.slice(1), 'shop/${name}-from-browser').then(
          result => { document.title = JSON.stringify(result) },
          error => { document.title = JSON.stringify({ failed: String(error) }) },
        )`,
      )
    }
    await buildApp(packed.folder, 'entities-door', ENTITIES_DOOR)
    await buildApp(packed.folder, 'outbox', OUTBOX)
    site = await serve(packed.folder)
    browser = await startChromium()
  })

  afterAll(async () => {
    await browser?.close()
    site?.close()
  })

  test.each([
    ['reads and writes across origins', 'scenario', EXPECTED],
    ['has entities, if imported', 'entities', ENTITIES_EXPECTED],
  ])('%s', async (_, name, expected) => {
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    const { port } = site.address() as AddressInfo
    await page.goto(`http://127.0.0.1:${port}/dist-${name}/index.html#${server.url}`)
    await page.waitForFunction(() => document.title !== 'waiting')
    expect(problems).toEqual([])
    expect(JSON.parse(await page.title())).toEqual(expected)
  })

  test("after a reload, sends once what the page had under way, and leaves another page's writes alone", async () => {
    const context = await browser.newContext()
    const { port } = site.address() as AddressInfo
    const open = async () => {
      const page = await context.newPage()
      await page.goto(`http://127.0.0.1:${port}/dist-outbox/index.html#${server.url}`)
      await page.waitForFunction(() => document.title === 'connected')
      return page
    }
    const flush = (page: Page) => page.evaluate('db.outbox.flush()') as Promise<{ done: unknown[]; left: number }>
    const [one, two] = [await open(), await open()]
    await one.evaluate(`db.counter('shop/reloaded').configure()`)
    // The write takes effect, and the answer never comes.
    let done = 0
    await one.route('**/db/shop/reloaded/*', async route => {
      await route.fetch().catch(() => {})
      done++
      // The page may be gone by then.
      await route.abort().catch(() => {})
    })
    await one.evaluate(`void db.counter('shop/reloaded').add('1', 5).catch(() => {})`)
    await expect.poll(() => done).toBeGreaterThan(0)
    expect(await flush(two)).toMatchObject({ done: [], left: 1 })
    await one.close()
    const next = await open()
    await expect.poll(() => flush(next)).toMatchObject({ done: [{ answer: { value: 5 } }], left: 0 })
    expect(await next.evaluate(`db.counter('shop/reloaded').get('1')`)).toBe(5)
    await context.close()
  })

  test.each([
    ['The client', 'scenario', 21],
    ['The door of entities', 'entities-door', 7],
  ])('%s is within its size limit, gzipped', async (what, name, limitKiB) => {
    const code = await loadedAtOnce(join(packed.folder, `dist-${name}`), 'app.js')
    const gzipped = gzipSync(code).length
    console.log(`${what} in a bundle: ${code.length} bytes, ${gzipped} gzipped`)
    expect(gzipped).toBeLessThan(limitKiB * 1024)
  })

  test('the bundle of an app that does not use entities contains none of their code', async () => {
    const holdsEntities = async (name: string) =>
      (await loadedAtOnce(join(packed.folder, `dist-${name}`), 'app.js')).includes('is not an entity class')
    expect([await holdsEntities('scenario'), await holdsEntities('entities')]).toEqual([false, true])
  })
})

async function runInNode(name: 'scenario' | 'entities', bucket: string): Promise<unknown> {
  const script = `import { ${name} } from './${name}.js'
    console.log(JSON.stringify(await ${name}(process.argv[2], '${bucket}')))`
  await writeFile(join(packed.folder, `run-${name}.js`), script)
  const { stdout, stderr } = await run(process.execPath, [`run-${name}.js`, server.url], {
    cwd: packed.folder,
    timeout: 60_000,
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

/** Builds into the folder dist-NAME. */
async function buildApp(folder: string, name: string, main: string): Promise<void> {
  await writeFile(
    join(folder, 'index.html'),
    '<!doctype html><title>waiting</title><script type="module" src="/main.js"></script>',
  )
  await writeFile(join(folder, 'main.js'), main)
  await build({
    configFile: false,
    root: folder,
    base: `/dist-${name}/`,
    logLevel: 'silent',
    build: { outDir: `dist-${name}`, target: 'es2022', rolldownOptions: { output: { entryFileNames: 'app.js' } } },
  })
}

/** A module and everything that it imports, each once; without what it may load later (recordings, transactions). */
async function loadedAtOnce(folder: string, name: string, seen: Set<string> = new Set()): Promise<string> {
  if (seen.has(name)) return ''
  seen.add(name)
  const code = await readFile(join(folder, name), 'utf8')
  const imported = [...code.matchAll(/(?:from|import)\s*"(\.\.?\/[\w./-]+\.js)"/g)].map(([, path]) => path!)
  const parts = imported.map(path => loadedAtOnce(folder, join(dirname(name), path), seen))
  return code + (await Promise.all(parts)).join('')
}

async function serve(folder: string): Promise<Server> {
  const site = createServer((request, response) => {
    const name = (request.url ?? '').slice(1)
    readFile(join(folder, name)).then(
      body =>
        response.writeHead(200, { 'content-type': name.endsWith('js') ? 'text/javascript' : 'text/html' }).end(body),
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  return site
}
