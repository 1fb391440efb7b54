/** The tree installs from the npm registry that the machine is configured for, so no file contains the address of one. */
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

const LOCKED = /"resolved":\s*"(?:https?|git)[^"]*"/g
const CONFIGURED = /^\s*(?:@[\w-]+:)?registry\s*=.*$|^\s*\/\/[^\s]+:_auth.*$/gm
const WRITTEN = /https?:\/\/registry\.[\w.-]+/g

export function registryAddresses(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(file => {
    if (file.path.endsWith('package-lock.json')) {
      return findEach(file, file.text, LOCKED, () => HOW_TO_LOCK)
    }
    const pattern = file.path.endsWith('.npmrc') ? CONFIGURED : WRITTEN
    return findEach(
      file,
      file.text,
      pattern,
      match =>
        `'${match[0].trim()}' ties the tree to one registry. Delete it; it belongs in the machine's own npm settings.`,
    )
  })
}

const HOW_TO_LOCK =
  'The lock file contains an address. Regenerate it: `npm install --package-lock-only --omit-lockfile-registry-resolved`.'
