/**
 * Runs every ```js block of the READMEs and of the pages that teach by example. A block must print what its comments say. A block
 * that names the server of the quick start, http://localhost:7700, runs against a new one.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { blocksOf, listDocs } from './doc-blocks.js'
import { startMemoryServer } from './memory-server.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const SERVER = 'http://localhost:7700'
/** Other tests run these. */
const RUN_ELSEWHERE = [
  ...['first-steps', 'purge-race', 'your-own-app'].map(name => `docs/tutorials/${name}.md`),
  'docs/guides/existing-tables.md',
]

describe.each([
  'README.md',
  'packages/bloom/README.md',
  'packages/protocol/README.md',
  'packages/core/README.md',
  'packages/client/README.md',
  'packages/cli/README.md',
  'packages/engines/README.md',
  'packages/server/README.md',
  ...listDocs().filter(
    page => !RUN_ELSEWHERE.includes(page) && blocksOf(page).some(({ language }) => language === 'js'),
  ),
])('%s', path => {
  const blocks = [...readFileSync(root + path, 'utf8').matchAll(/```js\n(.*?)```/gs)].map(match => match[1]!)

  it('has examples', () => {
    expect(blocks.length).toBeGreaterThan(0)
  })

  it.each(blocks)('prints what it promises:\n%s', async block => {
    const promised = [...block.matchAll(/^ *console\.log\(.*\) \/\/ (.*)$/gm)].map(match => match[1])
    const printed = block.includes(SERVER) ? await runAgainstServer(block) : await run(block)
    expect(promised.length).toBeGreaterThan(0)
    expect(printed.trimEnd().split('\n')).toEqual(promised)
  })
})

async function runAgainstServer(block: string): Promise<string> {
  const server = await startMemoryServer()
  try {
    return await run(block.replaceAll(SERVER, server.url))
  } finally {
    await server.stop()
  }
}

async function run(block: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', block], {
    cwd: root,
  })
  return stdout
}
