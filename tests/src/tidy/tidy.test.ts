/** Checks of the whole tree that the linter cannot do. `planted-violations.test.ts` shows that each rule can fail. */
import { fileURLToPath } from 'node:url'
import { readTree } from '@freshet/lab/dist/source-tree/read-tree.js'
import { expect, test } from 'vitest'
import { formatFinding } from './rule.js'
import { rules } from './rules.js'

const tree = readTree(fileURLToPath(new URL('../../../', import.meta.url)))

test('the checked tree includes new files, and nothing that git ignores', () => {
  const paths = tree.map(file => file.path)
  expect(paths).toContain('tests/src/tidy/tidy.test.ts')
  expect(paths.filter(path => /(?:^|\/)(?:node_modules|dist)\//.test(path))).toEqual([])
})

for (const { claim, check } of rules) {
  test(claim, () => {
    const findings = check(tree).map(formatFinding)
    if (findings.length > 0) expect.fail(`${findings.length} to fix:\n\n${findings.join('\n')}\n`)
  })
}
