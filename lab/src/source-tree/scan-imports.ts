/** Finds the imports of a source file, in all forms: static, type-only, `export ... from`, side effect, `import()`. */

import { scanSource } from './scan-source.js'
import { lineAt } from './source-file.js'

export interface ImportFound {
  readonly specifier: string
  readonly line: number
}

const IMPORT_FORMS = [
  /\b(?:import|export)\b[\w\s{},*$]*?\bfrom\s*(?=['"])/g,
  /\bimport\s*(?=['"])/g,
  /\bimport\s*\(\s*(?=['"`])/g,
]
const URL_FORM = /\bnew\s+URL\s*\(\s*(?=['"`]\s*['"`]\s*,\s*import\.meta\.url\b)/g

export function scanImports(text: string): ImportFound[] {
  const { code } = scanSource(text)
  return IMPORT_FORMS.flatMap(form => quotedAfter(form, code, text))
}

/** Files named by `new URL('./x.js', import.meta.url)`, which is how code names the source of a worker or a child process. */
export function scanFileUrls(text: string): ImportFound[] {
  return quotedAfter(URL_FORM, scanSource(text).code, text)
}

/** The string that follows each match. Its content is blank in `code`, so it is read from `text`. */
function quotedAfter(form: RegExp, code: string, text: string): ImportFound[] {
  return [...code.matchAll(form)].map(match => {
    const open = match.index + match[0].length
    const close = code.indexOf(code[open]!, open + 1)
    return { specifier: text.slice(open + 1, close), line: lineAt(text, open) }
  })
}
