/** What npm packs, asked of npm itself: the files of packages as a user gets them, or their tarballs. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Manifest } from './package-manifest.js'

export interface PackedPackage {
  /** From the root of the repository. */
  readonly folder: string
  readonly manifest: Manifest
  /** Their bytes, by path in the package. */
  readonly files: ReadonlyMap<string, Buffer>
  /** Of the tarball. */
  readonly sizeBytes: number
}

interface Listed {
  readonly size: number
  readonly filename: string
  readonly files: ReadonlyArray<{ readonly path: string }>
}

/** The packages in these folders, in their order. Writes nothing. */
export async function readPacked(root: string, folders: readonly string[]): Promise<readonly PackedPackage[]> {
  const listed = await pack(root, folders, ['--dry-run'])
  return Promise.all(folders.map((folder, i) => readListed(root, folder, listed[i]!)))
}

/** Writes a tarball of each into `to`, and returns their paths. */
export async function packInto(to: string, root: string, folders: readonly string[]): Promise<readonly string[]> {
  const listed = await pack(root, folders, ['--pack-destination', to])
  return listed.map(({ filename }) => join(to, filename))
}

/** One start of npm for all of them: it takes longer than the packing. */
async function pack(root: string, folders: readonly string[], args: readonly string[]): Promise<readonly Listed[]> {
  const workspaces = folders.flatMap(folder => ['--workspace', folder])
  const { stdout } = await promisify(execFile)('npm', ['pack', '--json', '--ignore-scripts', ...args, ...workspaces], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  return JSON.parse(stdout) as readonly Listed[]
}

async function readListed(root: string, folder: string, { size, files }: Listed): Promise<PackedPackage> {
  const read = await Promise.all(
    files.map(async ({ path }) => [path, await readFile(join(root, folder, path))] as const),
  )
  const byPath = new Map(read)
  return {
    folder,
    manifest: JSON.parse(`${byPath.get('package.json')}`) as Manifest,
    files: byPath,
    sizeBytes: size,
  }
}
