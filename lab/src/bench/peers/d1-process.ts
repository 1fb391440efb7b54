/**
 * A worker with a D1 database, in its own process: GET and PUT of /products/ID, each request in a session of D1 that begins at the
 * primary. The settings come as JSON in the only argument.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What this process uses of miniflare, which is not a dependency of this repository. */
interface MiniflareModule {
  readonly Miniflare: new (options: object) => { readonly ready: Promise<URL>; dispose(): Promise<void> }
}

const WORKER = `
let isReady
async function createTable(db) {
  await db.prepare('CREATE TABLE IF NOT EXISTS products (id TEXT PRIMARY KEY, body TEXT NOT NULL)').run()
}
export default {
  async fetch(request, { DB }) {
    await (isReady ??= createTable(DB))
    const id = new URL(request.url).pathname.slice('/products/'.length)
    const session = DB.withSession('first-primary')
    if (request.method === 'PUT') {
      const put = 'INSERT INTO products VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body'
      await session.prepare(put).bind(id, await request.text()).run()
      return new Response(null, { status: 204 })
    }
    const row = await session.prepare('SELECT body FROM products WHERE id = ?').bind(id).first()
    if (row === null) return new Response(null, { status: 404 })
    return new Response(row.body, { headers: { 'Content-Type': 'application/json' } })
  }
}`

const { installed, data } = JSON.parse(process.argv[2]!) as { readonly installed: string; readonly data: string }
const path = createRequire(join(installed, 'package.json')).resolve('miniflare')
const { Miniflare } = (await import(pathToFileURL(path).href)) as MiniflareModule
const miniflare = new Miniflare({
  modules: true,
  script: WORKER,
  host: '127.0.0.1',
  port: 0,
  compatibilityDate: '2026-01-01',
  d1Databases: ['DB'],
  d1Persist: data,
})
const { origin } = await miniflare.ready
console.log(origin)
process.once('SIGTERM', () => {
  miniflare.dispose().finally(() => process.exit())
})
