/**
 * Makes the files of the console from the compiled `web/`: bundled, split by page, minified, each named by its hash. Also makes the
 * client as one module (`client-module.ts`). Does nothing if the sources have not changed since.
 *
 *     dist/files/index.html
 *     dist/files/assets/console-HASH.js, console-HASH.css     what the first view needs
 *     dist/files/assets/PAGE-HASH.js                          loaded when the page is opened
 *     dist/files/assets/run-code-HASH.js                      the worker that runs the code of the JavaScript page
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'
import { CLIENT_MODULE, makeClientModule } from './client-module.js'

const ENTRY = fileURLToPath(new URL('../web/console.js', import.meta.url))
const WORKER = fileURLToPath(new URL('../web/run-code.js', import.meta.url))
const STYLE = fileURLToPath(new URL('../../page/console.css', import.meta.url))
const PAGE = new URL('../../page/index.html', import.meta.url)
const FOLDER = fileURLToPath(new URL('../files/', import.meta.url))
const MADE_FROM = join(FOLDER, '.made-from')

const madeFrom = hashOfSources()
if (!existsSync(CLIENT_MODULE) || !existsSync(MADE_FROM) || readFileSync(MADE_FROM, 'utf8') !== madeFrom) {
  await makeClientModule()
  await makeFiles()
  writeFileSync(MADE_FROM, madeFrom)
}

async function makeFiles(): Promise<void> {
  const { output } = (await build({
    configFile: false,
    logLevel: 'error',
    base: '/console/',
    build: {
      write: false,
      target: 'es2022',
      // A preload needs a document, which a worker does not have.
      modulePreload: false,
      rolldownOptions: { input: { console: ENTRY, 'run-code': WORKER, style: STYLE } },
    },
  })) as Rolldown.RolldownOutput
  rmSync(FOLDER, { recursive: true, force: true })
  for (const file of output) {
    if (file.type === 'chunk') write(file.fileName, file.code)
    else if (file.fileName.endsWith('.css')) write(file.fileName, file.source)
  }
  const nameOf = (pattern: RegExp) => `/console/${output.find(({ fileName }) => pattern.test(fileName))!.fileName}`
  const page = readFileSync(PAGE, 'utf8')
    .replace('{console.js}', nameOf(/^assets\/console-.*\.js$/))
    .replace('{console.css}', nameOf(/\.css$/))
    .replace('{run-code.js}', nameOf(/^assets\/run-code-.*\.js$/))
  write('index.html', page)
}

function write(name: string, text: string | Uint8Array): void {
  const path = join(FOLDER, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** A hash of everything that goes into the files. For packages from npm the lock file is enough. */
function hashOfSources(): string {
  const client = ['@freshet/client', '@freshet/protocol', '@freshet/bloom'].map(
    door => new URL('.', import.meta.resolve(door)),
  )
  const core = new URL('..', import.meta.resolve('@freshet/core/coherence'))
  const lock = fileURLToPath(new URL('../../../../package-lock.json', import.meta.url))
  const compiled = [new URL('..', import.meta.url), core, ...client].flatMap(folder =>
    filesIn(folder).filter(path => path.endsWith('.js') && !path.startsWith(FOLDER) && path !== CLIENT_MODULE),
  )
  const hash = createHash('sha256')
  for (const path of [...compiled, ...filesIn(new URL('.', PAGE)), lock]) {
    if (existsSync(path)) hash.update(path).update(readFileSync(path))
  }
  return hash.digest('hex')
}

function filesIn(folder: URL): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}
