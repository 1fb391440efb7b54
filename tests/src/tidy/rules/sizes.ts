/** A file of code is short enough to read in one go. (The linter limits the length of functions.) */
import { isCode, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import type { Finding } from '../rule.js'

const LINES_MAX = 500

export function sizes(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(file => isCode(file.path) || /\.(?:css|html)$/.test(file.path))
    .map(file => ({ path: file.path, lines: file.text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ path, lines }) => ({
      path,
      message: `${lines} lines are more than ${LINES_MAX}. Split it by purpose into files with their own names.`,
    }))
}
