/** The command line of `freshet rules`: the access rules in force. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { PLACE_FLAGS, type Place, readPlace } from '../places/place.js'
import { readAction, readWordsAndFlags } from '../terminal/read-flags.js'

export interface RulesLine {
  readonly action: (typeof ACTIONS)[number]
  /** For apply and diff. */
  readonly file: string
  /** For rollback; undefined: the rules before the last change. */
  readonly version: number | undefined
  readonly place: Place
  readonly mayWiden: boolean
  readonly ifVersion: number | undefined
  readonly isJson: boolean
}

const ACTIONS = ['apply', 'diff', 'show', 'history', 'rollback', 'confirm', 'remove'] as const
const CHANGES: readonly string[] = ['apply', 'rollback', 'confirm', 'remove']

/** Throws CONFIG_INVALID. */
export function readRulesLine(argv: readonly string[], environment: Environment): RulesLine {
  const action = readAction('rules', argv[0], ACTIONS)
  const isChange = CHANGES.includes(action)
  const { words, given } = readWordsAndFlags(`rules ${action}`, argv.slice(1), {
    values: isChange ? [...PLACE_FLAGS, 'if-version'] : PLACE_FLAGS,
    switches: isChange ? ['widen', 'json'] : ['json'],
  })
  const takesFile = action === 'apply' || action === 'diff'
  const wordsMax = takesFile || action === 'rollback' ? 1 : 0
  if (words.length > wordsMax) throw invalid(`${action} takes no argument ${JSON.stringify(words[wordsMax])}`)
  if (takesFile && words[0] === undefined) throw invalid('Name a rules file')
  return {
    action,
    file: takesFile ? words[0]! : '',
    version: takesFile ? undefined : versionIn('rollback', words[0]),
    place: readPlace('rules', { given, environment }),
    mayWiden: given.has('widen'),
    ifVersion: versionIn('--if-version', given.get('if-version')),
    isJson: given.has('json'),
  }
}

function versionIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text)
  throw invalid(`${name} takes a version, such as 105, not ${JSON.stringify(text)}`)
}

function invalid(why: string): Error {
  return configInvalid(`${why}: freshet rules apply shop.access --url http://localhost:7700`)
}
