/** A folder or file is named for what it is about; a name that fits anything collects everything. */
import type { Finding, SourceFile } from '../rule.js'

const EMPTY_NAME = /^(?:.+-)?(?:utils?|helpers?)$|^(?:common|misc)$/i

export function names(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path }) => {
    const empty = path.split('/').find(part => EMPTY_NAME.test(part.replace(/\..*$/, '')))
    if (empty === undefined) return []
    return [
      { path, message: `'${empty}' says nothing. Name it by what it does, or move its parts to the rooms they serve.` },
    ]
  })
}
