/** The client as npm would deliver it, with the packages it needs, installed into a folder outside of this repository. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { packInto } from '../release/packed-packages.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const PACKED = ['packages/bloom', 'packages/protocol', 'packages/core', 'packages/client']

export interface PackedClient {
  readonly folder: string
  /** The files in the package itself. */
  readonly files: readonly string[]
  remove(): Promise<void>
}

export async function installPackedClient(): Promise<PackedClient> {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-packed-'))
  const tarballs = await packInto(folder, root, PACKED)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  // Everything is at hand, so nothing is to be asked of a registry.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--silent', ...tarballs], { cwd: folder })
  const files = await readdir(join(folder, 'node_modules/@freshet/client'), { recursive: true })
  return { folder, files, remove: () => rm(folder, { recursive: true }) }
}
