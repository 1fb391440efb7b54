/**
 * Programs match on an error's code, so each code has its section in docs/errors.md, and each section its code.
 *
 * A code is the first argument of `new FilterError(...)` or `new FreshetError(...)`, or a member of the union types
 * FilterErrorCode and FreshetErrorCode. A section is a heading that consists of the code.
 */

import { scanSource } from '@freshet/lab/dist/source-tree/scan-source.js'
import { isCode, isTest, lineAt, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import type { Finding } from '../rule.js'

const DOCUMENT = 'docs/errors.md'
const THROWN = /\bnew\s+(?:Filter|Freshet)Error\s*\(\s*(?=['"])/g
const UNION = /\btype\s+(?:Filter|Freshet)ErrorCode\s*=(?:\s*\|?\s*(?:'[^']*'|"[^"]*"))+/g
const HEADING = /^#{2,4}\s+`?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)`?\s*$/gm

interface CodeFound {
  readonly code: string
  readonly path: string
  readonly line: number
}

export function errorCodes(files: readonly SourceFile[]): Finding[] {
  const inCode = files.filter(file => isCode(file.path) && !isTest(file.path)).flatMap(file => codesIn(file))
  const inDocument = files.filter(file => file.path === DOCUMENT).flatMap(file => sectionsIn(file))
  return [
    ...missingFrom(
      inDocument,
      inCode,
      code =>
        `${code} is not in ${DOCUMENT}. Add a section \`## ${code}\` there that says when it happens and what to do.`,
    ),
    ...missingFrom(
      inCode,
      inDocument,
      code => `No code throws the error ${code}. Delete its section, or correct its name.`,
    ),
  ]
}

function codesIn(file: SourceFile): CodeFound[] {
  const { code } = scanSource(file.text)
  const thrown = [...code.matchAll(THROWN)].map(match => match.index + match[0].length)
  const united = [...code.matchAll(UNION)].flatMap(match =>
    [...match[0].matchAll(/'[^']*'|"[^"]*"/g)].map(member => match.index + member.index),
  )
  return [...thrown, ...united].map(open => ({
    code: file.text.slice(open + 1, code.indexOf(code[open]!, open + 1)),
    path: file.path,
    line: lineAt(file.text, open),
  }))
}

function sectionsIn(file: SourceFile): CodeFound[] {
  return [...file.text.matchAll(HEADING)].map(match => ({
    code: match[1]!,
    path: file.path,
    line: lineAt(file.text, match.index),
  }))
}

/** One finding for each code in `wanted` that is not in `present`, at the first place where it occurs. */
function missingFrom(
  present: readonly CodeFound[],
  wanted: readonly CodeFound[],
  message: (code: string) => string,
): Finding[] {
  const known = new Set(present.map(found => found.code))
  return wanted.flatMap(({ code, path, line }) => {
    if (known.has(code)) return []
    known.add(code)
    return [{ path, line, message: message(code) }]
  })
}
