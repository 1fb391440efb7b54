/**
 * Exports that nothing imports, found by knip (knip.json: what the doors are, and what may be exported without a reader).
 * What only Node, a browser or a user of the package calls carries the tag `@public`, with the caller named.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const KNIP = join(ROOT, 'node_modules/knip/bin/knip.js')

/** What knip says; nothing, if it finds nothing. */
function deadExports(folder: string): Promise<string> {
  const args = [KNIP, '--directory', folder, '--no-progress', '--include', 'exports,types,duplicates']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) => {
      // 1: it has found some.
      if (error && error.code !== 1) reject(new Error(`knip failed: ${stderr}`, { cause: error }))
      else resolve(stdout.trim())
    })
  })
}

test('every export is imported somewhere', async () => {
  const found = await deadExports(ROOT)
  if (found !== '') expect.fail(`Delete the word export, or all of it:\n\n${found}\n`)
})

test('every export is imported somewhere: one that is not is found', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-dead-exports-'))
  try {
    await writeFile(join(folder, 'package.json'), '{ "name": "planted", "type": "module", "main": "index.ts" }')
    await writeFile(join(folder, 'index.ts'), "import { used } from './other.js'\nused()\n")
    await writeFile(join(folder, 'other.ts'), 'export function used() {}\nexport function planted() {}\n')
    const found = await deadExports(folder)
    expect(found).toMatch(/planted.*other\.ts:2/)
    expect(found).not.toMatch(/used .*other\.ts/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
