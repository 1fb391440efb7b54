/** An entry point lists its exports by name: `export *` would publish everything that a file exports. */

import { scanSource } from '@freshet/lab/dist/source-tree/scan-source.js'
import { isCode, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

const STAR_EXPORT = /\bexport\s+(?:type\s+)?\*/g

export function starExports(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(file => isCode(file.path))
    .flatMap(file =>
      findEach(
        file,
        scanSource(file.text).code,
        STAR_EXPORT,
        () => "List the names one by one, `export { a, b } from './x.js'`, instead of `export *`.",
      ),
    )
}
