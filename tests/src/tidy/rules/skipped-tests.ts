/** A test that is switched off has a reason in a comment on the line above. */

import { scanSource } from '@freshet/lab/dist/source-tree/scan-source.js'
import { isTest, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

const SWITCH = /\b(?:it|test|describe|suite|bench)(?:\s*\.\s*\w+)*?\s*\.\s*(only|skip)\s*[.(]/g

export function skippedTests(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(file => isTest(file.path))
    .flatMap(file => {
      const { code, comments } = scanSource(file.text)
      const commentLines = comments.split('\n')
      return findEach(
        file,
        code,
        SWITCH,
        match => `.${match[1]} without a reason. Remove it, or say why in a comment on the line above.`,
      ).filter(finding => (commentLines[finding.line! - 2] ?? '').trim() === '')
    })
}
