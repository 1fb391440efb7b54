/** A folder or file is named after its subject; a vague name collects unrelated code. */
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import type { Finding } from '../rule.js'

const VAGUE_ENDING = /^(?:.+-)?(?:utils?|helpers?|parts)$/i
const VAGUE_NAME =
  /^(?:common|misc|part|ways?|lines?|looks?|elsewhere|meetings?|child|children|stuff|things?|info|managers?)$/i

export function names(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path }) => {
    const vague = path.split('/').find(isVague)
    if (vague === undefined) return []
    const message = `'${vague}' is too vague. Name it by what it does, or move its parts to the rooms they serve.`
    return [{ path, message }]
  })
}

function isVague(name: string): boolean {
  const base = name.replace(/\..*$/, '')
  return VAGUE_ENDING.test(base) || VAGUE_NAME.test(base)
}
