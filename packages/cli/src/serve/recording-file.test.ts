import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RecordingFile } from './recording-file.js'

const LOG = { level: 'error', write: () => undefined } as const
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-recording-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a recording is appended to, and both its files stay within their size', () => {
  const path = join(folder, 'a.ndjson')
  for (let run = 0; run < 6; run++) {
    const file = new RecordingFile(path, 30, LOG)
    file.add(`line ${run}`)
    file.add('again')
    file.end()
  }
  expect(readFileSync(`${path}.old`, 'utf8')).toBe('line 2\nagain\nline 3\nagain\n')
  expect(readFileSync(path, 'utf8')).toBe('line 4\nagain\nline 5\nagain\n')
})

test('lines added after its end are dropped', () => {
  const path = join(folder, 'b.ndjson')
  const file = new RecordingFile(path, 1000, LOG)
  file.end()
  file.add('late')
  file.end()
  expect(readFileSync(path, 'utf8')).toBe('')
})

test('a file that cannot be written is refused with advice', () => {
  const path = join(folder, 'no', 'such.ndjson')
  expect(() => new RecordingFile(path, 1000, LOG)).toThrow(/^The recording .* Choose another file with --record\.$/)
  expect(existsSync(path)).toBe(false)
})
