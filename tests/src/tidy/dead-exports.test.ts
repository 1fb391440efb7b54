/**
 * Exports that nothing imports, found by knip (knip.json lists the entry points, and the exports allowed without an importer).
 * An export that only Node, a browser or a user of the package calls has the tag `@public`, with the caller named.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const KNIP = join(ROOT, 'node_modules/knip/bin/knip.js')

/** The output of knip; empty if it finds nothing. */
function deadExports(folder: string): Promise<string> {
  const args = [KNIP, '--directory', folder, '--no-progress', '--include', 'exports,types,duplicates']
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) => {
      // Exit code 1: knip has findings.
      if (error && error.code !== 1) reject(new Error(`knip failed: ${stderr}`, { cause: error }))
      else resolve(stdout.trim())
    })
  })
}

test('every export is imported somewhere', async () => {
  const found = await deadExports(ROOT)
  if (found !== '') expect.fail(`Delete the word export, or the whole declaration:\n\n${found}\n`)
})

test('an export that is imported nowhere is found', async () => {
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
