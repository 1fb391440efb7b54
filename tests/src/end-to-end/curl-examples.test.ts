/**
 * The ```sh blocks of the pages that teach with curl run one after the other in one shell against a new server. They must print
 * what the ```json blocks after them show: the same members and texts; numbers, ids and explanations only need to be there.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { blocksOf } from './doc-blocks.js'
import { startMemoryServer } from './memory-server.js'

const END = '--- end of an example ---'
const VARYING = ['id', 'requestId', 'detail']

const pages = [
  { page: 'guides/transactions', examplesMin: 6 },
  { page: 'guides/counters-and-retries', examplesMin: 4 },
]

test.skipIf(reasonToSkip('curl') !== undefined).each(pages)(
  'the curl examples of $page print what the page shows',
  async ({ page, examplesMin }) => {
    const examples = readExamples(page)
    const server = await startMemoryServer()
    const folder = mkdtempSync(join(tmpdir(), 'freshet-curl-'))
    try {
      const commands = examples.map(({ command }) =>
        command.replaceAll('localhost:7700', server.url.slice('http://'.length)),
      )
      const script = `set -euo pipefail\n${commands.join(`\necho; echo '${END}'\n`)}`
      const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder })
      const answers = stdout.split(END).map(each => JSON.parse(each) as unknown)
      expect(examples.length).toBeGreaterThanOrEqual(examplesMin)
      expect(answers.map(shapeOf)).toEqual(examples.map(({ answer }) => shapeOf(answer)))
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await server.stop()
    }
  },
)

const answered = [
  { page: 'guides/queries', commandsMin: 3 },
  { page: 'guides/schemas', commandsMin: 4 },
]

test.skipIf(reasonToSkip('curl') !== undefined).each(answered)(
  'the server understands the curl requests of $page',
  async ({ page, commandsMin }) => {
    const server = await startMemoryServer()
    try {
      const blocks = blocksOf(`docs/${page}.md`).filter(
        ({ language, text }) => language === 'sh' && text.startsWith('curl'),
      )
      const commands = blocks.map(({ text }) =>
        text
          .replaceAll('localhost:7700', server.url.slice('http://'.length))
          .replaceAll(/^curl /gm, `curl -sS -o /dev/null -w '%{http_code}\\n' `),
      )
      const { stdout } = await promisify(execFile)('bash', ['-ec', commands.join('\n')])
      const statuses = stdout.trim().split('\n').map(Number)
      expect(statuses.length).toBeGreaterThanOrEqual(commandsMin)
      // The server may refuse a request, perhaps as the page says; but never as one that makes no sense.
      expect(statuses.filter(status => ![200, 201, 202, 304, 404, 409, 412, 422].includes(status))).toEqual([])
    } finally {
      await server.stop()
    }
  },
)

function readExamples(page: string): readonly { readonly command: string; readonly answer: unknown }[] {
  const text = readFileSync(fileURLToPath(new URL(`../../../docs/${page}.md`, import.meta.url)), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```\n```json\n(.*?)```/gs)].map(([, command, answer]) => ({
    command: command!,
    answer: JSON.parse(answer!) as unknown,
  }))
}

function shapeOf(value: unknown, name: string | number = ''): unknown {
  if (Array.isArray(value)) return value.map(each => shapeOf(each))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, name)]))
  }
  const isExact = ['balance', 'value', 'status'].includes(String(name))
  return (typeof value === 'number' && !isExact) || VARYING.includes(String(name)) ? typeof value : value
}
