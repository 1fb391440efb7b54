/** Finds the constructions of `constructions.ts`. Where one of them is right, the words around it are in ALLOWED. */
import { CONSTRUCTIONS, hasSentences } from '@freshet/lab/dist/source-tree/constructions.js'
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

/** By file. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The user that Debian gives to processes that may do nothing.
  'packages/engines/src/under-test/start-mariadb.ts': ["'nobody'"],
  'packages/engines/src/under-test/start-postgres.ts': ["'nobody'"],
}

export function plainEnglish(files: readonly SourceFile[]): Finding[] {
  return files.filter(hasSentences).flatMap(constructionsIn)
}

function constructionsIn(file: SourceFile): Finding[] {
  const text = (ALLOWED[file.path] ?? []).reduce((rest, allowed) => rest.replaceAll(allowed, masked), file.text)
  return Object.values(CONSTRUCTIONS).flatMap(({ wrong, instead }) =>
    findEach(file, text, wrong, match => `"${match[0]}" reads like a translation. ${instead}`),
  )
}

/** As long as before, so that lines stay where they are. */
function masked(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}
