/** Options that name a file and whose value is its content: rules, and token keys. */
import { readFileSync } from 'node:fs'
import {
  checkExamples,
  type IndexesOfBucket,
  indexesFor,
  parseRules,
  type RulesMistake,
} from '@freshet/server/configuration'
import { didYouMean } from './nearest-name.js'
import type { ValueKind } from './value-kinds.js'

export const NONE = 'none'

/** The text of a rules file whose examples hold. */
export const RULES: ValueKind<string> = {
  placeholder: 'FILE',
  wants: 'a file of access rules (docs/guides/access.md), or none',
  parse: path => (path === NONE ? NONE : rulesIn(path).text),
  mistakes: path => rulesIn(path).mistakes,
  show: text => (text === NONE ? NONE : `${text.split('\n').length} lines`),
}

export const KEY_FILE: ValueKind<string> = {
  placeholder: 'FILE',
  wants: 'a file that can be read, or none',
  parse: path => (path === NONE ? NONE : read(path)),
  show: text => (text === NONE ? NONE : 'set'),
}

export interface RulesInFile {
  /** Undefined if there are mistakes. */
  readonly text: string | undefined
  readonly mistakes: readonly string[]
  readonly examples: number
  /** The indexes that the rules need, so that callers find the rows they may see. */
  readonly indexes: readonly IndexesOfBucket[]
}

export function rulesIn(path: string): RulesInFile {
  const text = read(path)
  if (text === undefined) return { text, mistakes: [`${path} cannot be read.`], examples: 0, indexes: [] }
  const { rules, mistakes } = parseRules(text, (typed, names) => didYouMean(typed, names))
  const wrong = rules === undefined ? mistakes : checkExamples(rules)
  return {
    text: wrong.length === 0 ? text : undefined,
    mistakes: wrong.map(mistake => formatMistake(path, mistake)),
    examples: rules?.examples.length ?? 0,
    indexes: rules === undefined ? [] : indexesFor(rules),
  }
}

function formatMistake(path: string, { line, column, message }: RulesMistake): string {
  return `${path}:${line}:${column}: ${message}`
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
