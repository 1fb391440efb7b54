/**
 * Runs every ```js block of the READMEs and of the pages that teach by example. A block must print what its comments say. A block
 * that names the server of the quick start, http://localhost:7700, runs against a new one.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { blocksOf, listDocs } from './doc-blocks.js'
import { startMemoryServer } from './memory-server.js'
import { expectPromisedOutput } from './run-example.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const SERVER = 'http://localhost:7700'
/** Other tests run these. */
const RUN_ELSEWHERE = [
  ...['first-steps', 'purge-race', 'your-own-app'].map(name => `docs/tutorials/${name}.md`),
  'docs/guides/existing-tables.md',
  'docs/guides/instead-of-redis.md',
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
    if (block.includes(SERVER)) await runAgainstServer(block)
    else await expectPromisedOutput(block)
  })
})

async function runAgainstServer(block: string): Promise<void> {
  const server = await startMemoryServer()
  try {
    await expectPromisedOutput(block.replaceAll(SERVER, server.url))
  } finally {
    await server.stop()
  }
}
