/** All tidy rules, in the order they are reported. A new rule also needs a planted violation, or its test fails. */
import type { Rule } from './rule.js'
import { builtImports } from './rules/built-imports.js'
import { deadFiles } from './rules/dead-files.js'
import { errorCodes } from './rules/error-codes.js'
import { folderArrows } from './rules/folder-arrows.js'
import { importArrows } from './rules/import-arrows.js'
import { leftovers } from './rules/leftovers.js'
import { names } from './rules/names.js'
import { plainEnglish } from './rules/plain-english.js'
import { purity } from './rules/purity.js'
import { registryAddresses } from './rules/registry-addresses.js'
import { runtimeDependencies } from './rules/runtime-dependencies.js'
import { sizes } from './rules/sizes.js'
import { skippedTests } from './rules/skipped-tests.js'
import { starExports } from './rules/star-exports.js'
import { unscopedName } from './rules/unscoped-name.js'

export const rules: readonly Rule[] = [
  { claim: 'imports follow the arrows between rooms', check: importArrows },
  { claim: 'the folders of a package import each other one way only', check: folderArrows },
  { claim: 'imports of built files have a source', check: builtImports },
  { claim: 'the pure rooms have no clock, no randomness and no Node', check: purity },
  { claim: 'the pure rooms have no run-time dependency', check: runtimeDependencies },
  { claim: 'error codes and docs/errors.md agree', check: errorCodes },
  { claim: 'every source file is reached', check: deadFiles },
  { claim: 'every name is specific', check: names },
  { claim: 'no file is too long', check: sizes },
  { claim: 'exports are listed by name', check: starExports },
  { claim: 'a test that is switched off says why', check: skippedTests },
  { claim: 'no reminder is left in the tree', check: leftovers },
  { claim: 'no file carries the address of a registry', check: registryAddresses },
  { claim: 'sentences are plain English', check: plainEnglish },
  { claim: 'no text runs the package freshet, which is not ours', check: unscopedName },
]
