/**
 * An import of another room's built file must name a file that the sources still produce. After a build, the output of a moved
 * or deleted source stays in `dist`, so such an import fails only on fresh clones.
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
          message: `No source produces '${specifier}'. Import the file from where it is now.`,
        })),
    )
}

const BUILT = /^@freshet\/([^/]+)\/dist\/(.+)\.js$/

function isBuilt(specifier: string): boolean {
  return BUILT.test(specifier)
}

/** The possible sources of a built file. */
function sourcesOf(specifier: string): string[] {
  return ['', 'packages/'].map(folder => folder + specifier.replace(BUILT, '$1/src/$2.ts'))
}
