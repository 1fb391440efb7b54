/** Reads the flags of a command, each given at most once. Throws CONFIG_INVALID with a guess at what was meant. */
import { parseArgs } from 'node:util'
import { configInvalid } from '../config/config-invalid.js'
import { didYouMean } from '../config/nearest-name.js'

/** Names, without the two dashes. */
export interface FlagNames {
  /** Flags that take a value: `--out FILE`. */
  readonly values?: readonly string[]
  /** Flags without a value: `--json`. */
  readonly switches?: readonly string[]
}

export interface WordsAndFlags {
  readonly words: readonly string[]
  /** The text of a value; empty for a switch. */
  readonly given: ReadonlyMap<string, string>
}

/** For a command that takes flags only. */
export function readFlags(command: string, argv: readonly string[], names: FlagNames): ReadonlyMap<string, string> {
  const { words, given } = readWordsAndFlags(command, argv, names)
  if (words.length > 0) throw configInvalid(`${command} takes no argument ${JSON.stringify(words[0])}.`)
  return given
}

export function readWordsAndFlags(command: string, argv: readonly string[], names: FlagNames): WordsAndFlags {
  const kinds = kindsOf(names)
  const { tokens } = parseArgs({ args: [...argv], options: kinds, strict: false, allowPositionals: true, tokens: true })
  const words: string[] = []
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (!Object.hasOwn(kinds, name)) {
      const guess = didYouMean(name, Object.keys(kinds), flag => `--${flag}`)
      throw configInvalid(
        `${command} has no option ${rawName}.${guess || ` To list its options: freshet ${command} --help`}`,
      )
    }
    if (given.has(name)) throw configInvalid(`--${name} is given twice. Leave one out.`)
    given.set(name, textOf(rawName, value, kinds[name]!.type === 'boolean'))
  }
  return { words, given }
}

/** One of a command's own words, such as `add` of `tables add`. Throws CONFIG_INVALID with a guess at what was meant. */
export function readAction<Action extends string>(
  command: string,
  word: string | undefined,
  actions: readonly Action[],
): Action {
  const action = actions.find(each => each === word)
  if (action !== undefined) return action
  const list = `freshet ${command} ${actions.join(', ')}`
  if (word === undefined) throw configInvalid(`${command} needs an action: ${list}.`)
  throw configInvalid(
    `${command} has no action ${JSON.stringify(word)}.${didYouMean(word, actions) || ` It has: ${list}.`}`,
  )
}

/** The argument of a command that takes exactly one. `usage` completes a sentence that ends with "takes". */
export function oneWord(command: string, words: readonly string[], usage: string): string {
  const [word] = words
  if (word !== undefined && words.length === 1) return word
  throw configInvalid(`${command} takes ${usage}`)
}

function kindsOf({ values = [], switches = [] }: FlagNames): Record<string, { type: 'string' | 'boolean' }> {
  const kinds: Record<string, { type: 'string' | 'boolean' }> = {}
  for (const name of values) kinds[name] = { type: 'string' }
  for (const name of switches) kinds[name] = { type: 'boolean' }
  return kinds
}

function textOf(rawName: string, value: string | undefined, isSwitch: boolean): string {
  if (isSwitch && value === undefined) return ''
  if (!isSwitch && value !== undefined && !value.startsWith('--')) return value
  throw configInvalid(isSwitch ? `${rawName} takes no value.` : `${rawName} needs a value.`)
}
