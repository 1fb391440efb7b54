/**
 * The ```sh blocks of docs/transactions.md, run one after the other in one shell against a new server, must print what the
 * ```json blocks after them say: the same members, the same texts; of numbers, ids and explanations only that they are there.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { startMemoryServer } from './memory-server.js'

const text = readFileSync(fileURLToPath(new URL('../../../docs/transactions.md', import.meta.url)), 'utf8')
const examples = [...text.matchAll(/```sh\n(.*?)```\n```json\n(.*?)```/gs)].map(([, command, answer]) => ({
  command: command!,
  answer: JSON.parse(answer!) as unknown,
}))
const END = '--- end of an example ---'
const VARYING = ['id', 'requestId', 'detail']

test.skipIf(reasonToSkip('curl') !== undefined)('what is shown of transactions with curl is what happens', async () => {
  const server = await startMemoryServer()
  const folder = mkdtempSync(join(tmpdir(), 'freshet-curl-'))
  try {
    const commands = examples.map(({ command }) =>
      command.replaceAll('localhost:7700', server.url.slice('http://'.length)),
    )
    const script = `set -euo pipefail\n${commands.join(`\necho; echo '${END}'\n`)}`
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder })
    const answers = stdout.split(END).map(each => JSON.parse(each) as unknown)
    expect(examples.length).toBeGreaterThan(5)
    expect(answers.map(shapeOf)).toEqual(examples.map(({ answer }) => shapeOf(answer)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await server.stop()
  }
})

function shapeOf(value: unknown, name: string | number = ''): unknown {
  if (Array.isArray(value)) return value.map(each => shapeOf(each))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, name)]))
  }
  const isExact = name === 'balance' || name === 'status'
  return (typeof value === 'number' && !isExact) || VARYING.includes(String(name)) ? typeof value : value
}
