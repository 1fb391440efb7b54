/**
 * Contenders in headless Chromium, a page for each.
 *
 * Every page has a host name of its own under `.localhost`, which browsers resolve to this machine without a name
 * server. Different sites never share a renderer process, so they never share a V8.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import type { PreparedContender } from './child-contender.js'
import { startChromium } from './chromium.js'
import { type ContenderWorker, PAGE_WORKER } from './contender-worker.js'

export interface BrowserContenders {
  start<Details, Measure extends string>(name: string, settings: unknown): Promise<PreparedContender<Details, Measure>>
  stop(): Promise<void>
}

/** `module` calls `hostInPage`; it is bundled with all it imports. */
export async function startBrowser(module: URL): Promise<BrowserContenders> {
  const files = await bundle(module)
  const server = await serve(files)
  const { port } = server.address() as AddressInfo
  const browser = await startChromium({ args: ['--js-flags=--expose-gc'], handleSIGINT: false })
  return {
    start: (name, settings) => startPage(browser, port, name, settings),
    async stop() {
      await browser.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

async function startPage<Details, Measure extends string>(
  browser: Browser,
  port: number,
  name: string,
  settings: unknown,
): Promise<PreparedContender<Details, Measure>> {
  type Worker = ContenderWorker<unknown, Details, Measure>
  const page = await browser.newPage()
  const host = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  await page.goto(`http://${host}.localhost:${port}/`)
  await page.waitForFunction(key => key in globalThis, PAGE_WORKER)
  const worker = await page.evaluateHandle(key => (globalThis as unknown as Record<string, Worker>)[key]!, PAGE_WORKER)
  const details = await worker.evaluate((own, given) => own.prepare(given), settings)
  return {
    name,
    details: details as Details,
    round: () => worker.evaluate(own => own.round()),
    stop: () => page.close(),
  }
}

/** All files of the bundle by path, with a page that loads the first. */
async function bundle(module: URL): Promise<Map<string, string>> {
  const built = (await build({
    configFile: false,
    logLevel: 'error',
    root: fileURLToPath(new URL('.', module)),
    build: { write: false, minify: false, target: 'esnext', rolldownOptions: { input: fileURLToPath(module) } },
  })) as Rolldown.RolldownOutput
  const chunks = built.output.filter(file => file.type === 'chunk')
  const files = new Map(chunks.map(chunk => [`/${chunk.fileName}`, chunk.code]))
  const entry = chunks.find(chunk => chunk.isEntry)!
  files.set('/', `<!doctype html><meta charset="utf-8"><script type="module" src="/${entry.fileName}"></script>`)
  return files
}

async function serve(files: ReadonlyMap<string, string>): Promise<Server> {
  const server = createServer((request, response) => {
    const body = files.get(request.url ?? '')
    const type = request.url === '/' ? 'text/html' : 'text/javascript'
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}
