/** Reads the working tree as git sees it: tracked files and new ones, but nothing that .gitignore excludes. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceFile } from './source-file.js'

const BINARY = /\.(?:png|jpe?g|gif|ico|webp|woff2?|pdf|gz|zip|wasm)$/i

export function readTree(root: string): SourceFile[] {
  // Also read a clone that belongs to another user (a container's mounted volume), which git refuses by default.
  const listed = execFileSync(
    'git',
    ['-c', 'safe.directory=*', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  )
  const paths = new Set(listed.split('\0').filter(path => path !== '' && !BINARY.test(path)))
  // A tracked file that was deleted is still listed.
  return [...paths]
    .filter(path => existsSync(join(root, path)))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
