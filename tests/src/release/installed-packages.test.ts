/**
 * The packages as users install them: from a registry, into empty folders outside of this repository, with each package manager; and
 * compiled with each version of TypeScript that is supported.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstalledServer, startInstalled } from './installed-server.js'
import { type LoopbackRegistry, startRegistry } from './loopback-registry.js'
import { createProject, freshEnvironment, MANAGER_PACKAGES, packageManagers, runIn } from './package-managers.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'freshet-installed-'))
const tools = join(folder, 'tools')
const managers = packageManagers(tools)
const typed = join(folder, 'npm')
/** The oldest that is supported, later lines, and the one that this repository is built with. */
const [OLDEST, NEWEST] = ['5.7.3', versionOf('typescript')]
const TYPESCRIPT = [OLDEST, '5.9.3', '6.0.3', NEWEST]

const CLIENT_PROGRAM = new URL('./typed-programs/client-program.ts', import.meta.url)
const SERVER_PROGRAM = new URL('./typed-programs/server-program.ts', import.meta.url)

let registry: LoopbackRegistry
const servers: InstalledServer[] = []

beforeAll(async () => {
  mkdirSync(tools)
  writeFileSync(join(tools, 'package.json'), '{"private":true}')
  const compilers = TYPESCRIPT.map(version => `typescript-${version}@npm:typescript@${version}`)
  const install = ['npm', 'install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  const installed = runIn(tools, [...install, ...MANAGER_PACKAGES, ...compilers], process.env)
  registry = await startRegistry(root, folder)
  await installed
})
afterAll(async () => {
  await Promise.all(servers.map(server => server.stop()))
  await registry?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Started by whatever was installed, on a free port; stopped after the tests. */
async function start(cwd: string, command: readonly string[], env: NodeJS.ProcessEnv): Promise<InstalledServer> {
  const server = await startInstalled(cwd, command, { ...env, FRESHET_PORT: `${await freePort()}` })
  servers.push(server)
  return server
}

/** Writes with one connection, and reads with another. */
const SCRIPT = `
import { connect } from '@freshet/client'
import { createEntityManager, entity, idOf } from '@freshet/client/entities'

const [db, other] = [await connect(process.argv[2]), await connect(process.argv[2])]
await db.bucket('shop/products').put('tea', { name: 'Tea', price: 4 })
const tea = await other.bucket('shop/products').get('tea', { read: 'current' })
const Coffee = entity('shop/coffees')
const [em, reader] = [createEntityManager(db), createEntityManager(other, { read: 'current' })]
const coffee = new Coffee({ name: 'Finest' })
await em.persist(coffee)
await em.flush()
const { name } = await reader.find(Coffee, idOf(coffee))
db.close()
other.close()
console.log(JSON.stringify({ tea, name }))
`

describe.concurrent('all packages, installed into an empty folder', () => {
  test.each(managers)('by $name, are found by programs, and serve and read back a write', async each => {
    const project = join(folder, each.name.toLowerCase())
    const env = freshEnvironment(join(folder, `${each.name}-caches`))
    createProject(project, each, registry.url)
    const types = `@types/node@${versionOf('@types/node')}`
    await runIn(project, [...each.command, ...each.add, ...registry.names, types], env)
    writeFileSync(join(project, 'script.mjs'), SCRIPT)
    const server = await start(project, [...each.execute, 'freshet', 'dev', '--no-samples'], env)
    const printed = await runIn(project, [...each.script, 'script.mjs', server.url], env)
    expect(JSON.parse(printed)).toEqual({ tea: { name: 'Tea', price: 4 }, name: 'Finest' })
  })
})

test("the README's command for users without a clone starts a server, whose page, client and data answer", async () => {
  const [, command] = /^(npx @freshet\/cli \S+)/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))!
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  // npm asks before it runs a package for the first time.
  const answer = { npm_config_yes: 'true', npm_config_registry: registry.url }
  const server = await start(empty, command!.split(' '), { ...freshEnvironment(join(folder, 'npm-caches')), ...answer })
  const get = (path: string, accept: string) => fetch(server.url + path, { headers: { accept } })
  expect(await (await get('/', 'text/html')).text()).toContain('<h1')
  expect(await (await get('/client.js', '*/*')).text()).toContain('@freshet/client')
  expect(await (await get('/db/shop/products/tea', 'application/json')).json()).toMatchObject({ name: 'Green tea' })
})

describe.concurrent('a program that uses the client, its entities and the server', () => {
  /** Every name of each of these is imported, too. */
  const DOORS = ['client', 'client/entities', 'server', 'server/configuration', 'server/capabilities']
  const ESM = { module: 'nodenext', moduleResolution: 'nodenext', lib: ['ES2022'], types: ['node'] }
  const BUNDLED = { module: 'esnext', moduleResolution: 'bundler', lib: ['ES2022', 'DOM', 'DOM.Iterable'] }
  const everywhere = { esm: ESM, bundled: { ...BUNDLED, types: ['node'] } }
  const cases = [
    ...[OLDEST, NEWEST].flatMap(version =>
      Object.entries(everywhere).map(([name, options]) => ({ version, name, options })),
    ),
    { version: TYPESCRIPT[1]!, name: 'esm', options: everywhere.esm },
    { version: TYPESCRIPT[2]!, name: 'bundled', options: everywhere.bundled },
  ]

  beforeAll(() => {
    const programs = [fileURLToPath(CLIENT_PROGRAM), fileURLToPath(SERVER_PROGRAM)]
    for (const each of programs) cpSync(each, join(typed, basename(each)))
    const lines = DOORS.map(door => `export { ${exportsOf(door).join(', ')} } from '@freshet/${door}'\n`)
    for (const [i, line] of lines.entries()) writeFileSync(join(typed, `door-${i}.ts`), line)
  })

  test.each(cases)('compiles with TypeScript $version, $name', async ({ version, name, options }) => {
    expect(await compile(version, name, options, ['server-program.ts', 'door-*.ts'])).toBe('')
    if (name !== 'esm') return
    const program = `import { run } from './esm-${version}/server-program.js'\nconsole.log(await run())\n`
    writeFileSync(join(typed, `run-${version}.mjs`), program)
    const printed = await runIn(typed, [process.execPath, `run-${version}.mjs`], process.env)
    expect(printed).toBe('1 VERSION_CONFLICT Tea 7, 3 2, Selection Ann number\n')
  })

  test.each([OLDEST, NEWEST])('compiles for browsers with TypeScript %s, without the types of Node', async version => {
    const files = ['client-program.ts', 'door-0.ts', 'door-1.ts']
    expect(await compile(version, 'browser', { ...BUNDLED, types: [] }, files)).toBe('')
  })

  test('is refused if it is wrong', async () => {
    writeFileSync(join(typed, 'wrong.ts'), `import { connet } from '@freshet/client'\nconnet()\n`)
    await expect(compile(NEWEST, 'wrong', ESM, ['wrong.ts'])).rejects.toThrow("no exported member named 'connet'")
  })

  /** Returns what the compiler prints. */
  async function compile(version: string, name: string, options: object, include: readonly string[]): Promise<string> {
    const shared = { target: 'ES2022', strict: true, skipLibCheck: false, outDir: `${name}-${version}` }
    const project = `tsconfig-${name}-${version}.json`
    writeFileSync(join(typed, project), JSON.stringify({ compilerOptions: { ...shared, ...options }, include }))
    const compiler = join(tools, 'node_modules', `typescript-${version}`, 'bin/tsc')
    return runIn(typed, [process.execPath, compiler, '-p', project], process.env)
  }

  function exportsOf(door: string): readonly string[] {
    const [name, path] = door.split('/') as [string, string?]
    const { exports } = JSON.parse(
      readFileSync(join(typed, 'node_modules/@freshet', name, 'package.json'), 'utf8'),
    ) as {
      exports: Readonly<Record<string, { types: string }>>
    }
    const types = exports[path === undefined ? '.' : `./${path}`]!.types
    const lists = readFileSync(join(typed, 'node_modules/@freshet', name, types), 'utf8').matchAll(
      /^export (?:type )?\{([^}]*)\}/gms,
    )
    const names = [...lists].flatMap(([, list]) => list!.split(',').map(each => each.replace(/^\s*type /, '').trim()))
    return names.filter(each => each !== '')
  }
})

/** Of a package that this repository is built with. */
function versionOf(name: string): string {
  return (JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version
}
