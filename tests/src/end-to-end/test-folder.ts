/** For tests: a folder that is removed afterwards, along with the processes that a test has left behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { endFreshetProcesses } from './freshet-process.js'

/** One folder for all tests of a file or `describe`, or one for each test. Returns a function that returns its path. */
export function useFolder(name: string, per: 'file' | 'test' = 'file'): () => string {
  const [before, after] = per === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach]
  let folder: string | undefined
  before(() => {
    folder = mkdtempSync(join(tmpdir(), `freshet-${name}-`))
  })
  after(async () => {
    await endFreshetProcesses()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })
  return () => folder!
}
