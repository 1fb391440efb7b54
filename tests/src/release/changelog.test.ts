import { expect, test } from 'vitest'
import { unreleasedEntries, withRelease } from './changelog.js'

const CHANGELOG = '# Changelog\n\n## Unreleased\n\n### Stores\n- One.\n- Two.\n\n## 0.1.0, 2026-01-31\n- Zero.\n'

test('a release gives the entries that are gathered its version and date, and leaves room for the next', () => {
  const released = withRelease(CHANGELOG, '0.2.0', '2026-12-24')
  expect(released).toBe(CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n## 0.2.0, 2026-12-24\n'))
  expect(unreleasedEntries(released)).toBeUndefined()
})

test('the entries of the next release end where the last release begins', () => {
  expect(unreleasedEntries(CHANGELOG)).toBe('### Stores\n- One.\n- Two.')
  expect(unreleasedEntries('# Changelog\n\n## Unreleased\n- One.\n')).toBe('- One.')
})

test('headings alone are no entries', () => {
  expect(unreleasedEntries('# Changelog\n\n## Unreleased\n\n### Stores\n\n## 0.1.0\n- Zero.\n')).toBeUndefined()
  expect(unreleasedEntries('# Changelog\n')).toBeUndefined()
})
