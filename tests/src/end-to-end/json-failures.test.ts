/** With `--json`, a failed command also reports one JSON object: a program never reads empty output or plain text. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet } from './freshet-process.js'

const UNREACHABLE = '127.0.0.1:1'
const STORE = `postgres://${UNREACHABLE}/none`

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-failures-'))
  for (const name of ['empty', 'filled', 'migrations', 'damaged']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'filled/file'), '')
  writeFileSync(join(folder, 'damaged/000001.ndjson'), 'no backup\n')
  writeFileSync(join(folder, 'migrations/0001-a.mjs'), "export const bucket = 'a/b'\nexport const schema = {}\n")
  writeFileSync(join(folder, 'shards.json'), JSON.stringify({ shards: null }))
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  ['FILE_INVALID', 1, ['backup', 'damaged', '--verify']],
  ['FILE_INVALID', 1, ['restore', 'damaged', '--data', 'new']],
  ['STORE_UNUSABLE', 1, ['backup', 'backups', '--data', 'filled']],
  ['ENOENT', 1, ['import', 'none.ndjson', '--data', 'new']],
  ['STORE_UNUSABLE', 1, ['export', '--data', 'filled', '--out', 'out.ndjson']],
  ['STORE_UNUSABLE', 1, ['copy', '--from', 'filled', '--to', 'new']],
  ['RECORDING_INVALID', 2, ['check', 'none.ndjson']],
  ['REQUEST_FAILED', 1, ['gen', '--url', `http://${UNREACHABLE}`]],
  ['REQUEST_FAILED', 1, ['migrate', '--url', `http://${UNREACHABLE}`]],
  ['REQUEST_FAILED', 2, ['doctor', '--through', `http://${UNREACHABLE}`]],
  ['STORE_UNAVAILABLE', 2, ['doctor', '--store', STORE]],
  ['STORE_UNAVAILABLE', 1, ['tables', 'list', '--store', STORE]],
  ['REQUEST_FAILED', 1, ['bench', '--url', `http://${UNREACHABLE}`]],
  ['CONFIG_INVALID', 2, ['ring', 'status', '--ring', 'none.json']],
  ['CONFIG_INVALID', 2, ['shards', 'check']],
  ['CONFIG_INVALID', 2, ['init', 'filled']],
  ['CONFIG_INVALID', 2, ['token', '--sub', 'ann']],
  ['CONFIG_INVALID', 2, ['config', '--prot', '80']],
  ['CONFIG_INVALID', 2, ['exprot']],
])('%s, exit code %i: %j', async (code, exitCode, args) => {
  const ended = await runFreshet([...args, '--json'], { cwd: folder, killAfterMs: 60_000 })
  expect([ended.exitCode, ended.errors]).toEqual([exitCode, ''])
  expect(ended.output.trim().split('\n')).toHaveLength(1)
  expect(JSON.parse(ended.output)).toMatchObject({ code, message: expect.stringMatching(/\w/) })
})
