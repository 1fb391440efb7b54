/** A door lists what goes through it, name by name: `export *` would publish whatever a file happens to have. */
import { isCode } from '../rooms.js'
import { type Finding, findEach, type SourceFile } from '../rule.js'
import { scanSource } from '../scan/scan-source.js'

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
