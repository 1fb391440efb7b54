/**
 * An import of another room's built file names one that the sources still make: where it was built before, a file that
 * was moved or deleted stays in `dist`, and such an import fails on fresh clones only.
 */

import { scanImports } from '@freshet/lab/dist/source-tree/scan-imports.js'
import { isCode, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { roomOf } from '../rooms.js'
import type { Finding } from '../rule.js'

export function builtImports(files: readonly SourceFile[]): Finding[] {
  const paths = new Set(files.map(file => file.path))
  return files
    .filter(file => roomOf(file.path) !== undefined && isCode(file.path))
    .flatMap(file =>
      scanImports(file.text)
        .filter(({ specifier }) => isBuilt(specifier) && !sourcesOf(specifier).some(path => paths.has(path)))
        .map(({ specifier, line }) => ({
          path: file.path,
          line,
          message: `No source makes '${specifier}' any more. Import the file from where it is now.`,
        })),
    )
}

const BUILT = /^@freshet\/([^/]+)\/dist\/(.+)\.js$/

function isBuilt(specifier: string): boolean {
  return BUILT.test(specifier)
}

/** Where the source of a built file can be. */
function sourcesOf(specifier: string): string[] {
  return ['', 'packages/'].map(folder => folder + specifier.replace(BUILT, '$1/src/$2.ts'))
}
