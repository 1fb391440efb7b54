/** The flags of a command that has no words, each at most once. Throws CONFIG_INVALID with a guess at what was meant. */
import { parseArgs } from 'node:util'
import { FreshetError } from '@freshet/protocol'
import { didYouMean } from '../config/nearest-name.js'

export type FlagKinds = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>

export function readFlags(command: string, argv: readonly string[], kinds: FlagKinds): ReadonlyMap<string, string> {
  const { words, given } = readWordsAndFlags(command, argv, kinds)
  if (words.length > 0) throw invalid(`${JSON.stringify(words[0])} is one word too many for ${command}.`)
  return given
}

/** The same for a command that has words, too. */
export function readWordsAndFlags(
  command: string,
  argv: readonly string[],
  kinds: FlagKinds,
): { readonly words: readonly string[]; readonly given: ReadonlyMap<string, string> } {
  const { tokens } = parseArgs({ args: [...argv], options: kinds, strict: false, allowPositionals: true, tokens: true })
  const words: string[] = []
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    if (!Object.hasOwn(kinds, name)) {
      const guess = didYouMean(name, Object.keys(kinds), flag => `--${flag}`)
      throw invalid(`${rawName} is no option of ${command}.${guess || ` freshet ${command} --help lists them.`}`)
    }
    if (given.has(name)) throw invalid(`--${name} is given twice. Leave one out.`)
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
  if (word === undefined) throw invalid(`Say what to do: ${list}.`)
  throw invalid(`${command} has no ${JSON.stringify(word)}.${didYouMean(word, actions) || ` There is ${list}.`}`)
}

/** The address of a server, without a slash at its end. */
export function serverAddress(command: string, text: string | undefined, flag = '--url'): string {
  if (text === undefined) throw invalid(`Say which server: freshet ${command} --url http://localhost:7700`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
  if (isPlain && url.pathname === '/') return url.origin
  throw invalid(`${flag} takes an address such as http://localhost:7700, without a path, not ${JSON.stringify(text)}.`)
}

function textOf(rawName: string, value: string | undefined, isSwitch: boolean): string {
  if (isSwitch && value === undefined) return ''
  if (!isSwitch && value !== undefined && !value.startsWith('--')) return value
  throw invalid(isSwitch ? `${rawName} takes no value.` : `${rawName} needs a value after it.`)
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
