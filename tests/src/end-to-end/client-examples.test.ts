/**
 * Every `@example` in the doc comments of the client is compiled, and run against a server. What it logs must be what its
 * comments say: `console.log(tea?.price) // 4`.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format, promisify } from 'node:util'
import { readExports } from '@freshet/site/dist/read-exports.js'
import { transformWithOxc } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExampleScene, type ExampleScene } from './client-example-scene.js'
import { repository } from './doc-blocks.js'
import { startMemoryServer } from './memory-server.js'

const SERVER = 'http://localhost:7700'
/** A call with an unknown bucket, and one of something that is not imported. */
const WRONG = ["db.bucket('shop/product')", 'within(5)']

interface Example {
  readonly of: string
  readonly code: string
}

const examples: readonly Example[] = readExports(join(repository, 'packages'), 'client', ['.', './entities']).flatMap(
  ({ exports }) =>
    exports.flatMap(({ name, examples, members }) => [
      ...examples.map(code => ({ of: name, code })),
      ...members.flatMap(member => member.examples.map(code => ({ of: `${name}.${member.name}`, code }))),
    ]),
)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-examples-'))
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every example compiles with the strictest options, and a wrong one does not', async () => {
  const all = [...examples.map(({ code }) => code), ...WRONG]
  for (const [i, code] of all.entries()) writeFileSync(join(folder, `example-${i}.ts`), moduleOf(code))
  const faults = await compile(all.map((_, i) => `example-${i}.ts`))
  const wrong = faults.filter(fault => !WRONG.some((_, i) => fault.startsWith(`example-${examples.length + i}.ts`)))
  expect(wrong.map(fault => `${examples[Number(/\d+/.exec(fault)?.[0])]?.of}: ${fault}`)).toEqual([])
  expect(faults).toHaveLength(WRONG.length)
})

test.each(examples.map(({ of, code }, i) => [of, i, code] as const))(
  'the example of %s (%i) does what it promises',
  async (_, i, code) => {
    const server = await startMemoryServer()
    const printed: string[] = []
    const scene = await createExampleScene(server.url, (...values) => printed.push(format(...values)))
    try {
      const { run } = await load(`example-${i}.js`, code.replaceAll(SERVER, server.url))
      await run(scene)
    } finally {
      scene.db.close()
      await server.stop()
    }
    expect(printed).toEqual([...code.matchAll(/\bconsole\.log\(.*\) \/\/ (.*)$/gm)].map(match => match[1]))
    expect(printed).toHaveLength(code.match(/\bconsole\.log\(/g)?.length ?? 0)
  },
)

/** The code as the body of a function, after its imports. Its own declarations may hide those of the scene. */
function moduleOf(code: string): string {
  const isImport = (line: string) => line.startsWith('import ')
  const lines = code.split('\n')
  return [
    ...lines.filter(isImport),
    `import type { ExampleScene } from ${JSON.stringify(join(repository, 'tests/src/end-to-end/client-example-scene.js'))}`,
    'export async function run({ db, em, Coffee, localStorage, console }: ExampleScene): Promise<void> {',
    '  {',
    ...lines.filter(line => !isImport(line)),
    '  }',
    '}',
  ].join('\n')
}

async function load(name: string, code: string): Promise<{ run(scene: ExampleScene): Promise<void> }> {
  const { code: script } = await transformWithOxc(moduleOf(code), name.replace('.js', '.ts'))
  const path = join(folder, name)
  writeFileSync(path, script)
  return import(pathToFileURL(path).href)
}

/** The lines of the compiler that name a fault. */
async function compile(files: readonly string[]): Promise<readonly string[]> {
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  const options = [
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noUncheckedIndexedAccess',
    '--noEmit',
    '--skipLibCheck',
  ]
  const platform = ['--target', 'es2022', '--module', 'nodenext', '--lib', 'es2023,dom', '--types', '']
  const command = [tsc, ...options, ...platform, ...files]
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  return stdout.split('\n').filter(line => /error TS/.test(line))
}
