/**
 * A tidy rule is a pure function from the files of the tree to its findings, so that every rule can be tested with a planted
 * violation. A message says what is wrong and names the fix.
 */
import { lineAt, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'

export interface Finding {
  readonly path: string
  readonly line?: number
  readonly message: string
}

export interface Rule {
  /** What holds if the rule finds nothing; the title of its test. */
  readonly claim: string
  readonly check: (files: readonly SourceFile[]) => Finding[]
}

/** Reports every match of `pattern`, which must be global, as a finding in `file`. */
export function findEach(
  file: SourceFile,
  text: string,
  pattern: RegExp,
  message: (match: RegExpMatchArray) => string,
): Finding[] {
  return [...text.matchAll(pattern)].map(match => ({
    path: file.path,
    line: lineAt(text, match.index),
    message: message(match),
  }))
}

export function formatFinding(finding: Finding): string {
  return `${finding.path}${finding.line === undefined ? '' : `:${finding.line}`}  ${finding.message}`
}
