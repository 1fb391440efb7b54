/** Runs an example of the documentation as its readers do: as a module, in a process of its own. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Expects that it prints what its comments say: `console.log(...) // 4`. */
export async function expectPromisedOutput(example: string): Promise<void> {
  const promised = [...example.matchAll(/^ *console\.log\(.*\) \/\/ (.*)$/gm)].map(match => match[1])
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', example], {
    cwd: root,
  })
  expect(promised.length).toBeGreaterThan(0)
  expect(stdout.trimEnd().split('\n')).toEqual(promised)
}
