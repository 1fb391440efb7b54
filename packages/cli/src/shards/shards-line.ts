/** The command line of `freshet shards init`, `freshet shards check` and `freshet shards add`. */
import { configInvalid } from '../config/config-invalid.js'
import { type FlagNames, readAction, readWordsAndFlags } from '../terminal/read-flags.js'

interface ShardsFlags {
  readonly configPath?: string
  readonly isJson: boolean
}

export interface AddLine extends ShardsFlags {
  readonly action: 'add'
  /** The name of the shard in the config. */
  readonly name: string
  /** The first key that it gets. */
  readonly at: number
  /** How many rows of a table move at a time. */
  readonly rowsMax: number
  /** No other program writes rows with these keys meanwhile. */
  readonly isAtRest: boolean
}

export type ShardsLine = (ShardsFlags & { readonly action: 'init' | 'check' }) | AddLine

const COMMON: FlagNames = { values: ['config'], switches: ['json'] }
const OF_ADD: FlagNames = { values: ['config', 'at', 'rows'], switches: ['json', 'at-rest'] }
const ROWS = 2000

/** Throws CONFIG_INVALID. */
export function readShardsLine([word, ...argv]: readonly string[]): ShardsLine {
  const action = readAction('shards', word, ['init', 'check', 'add'])
  const kinds = action === 'add' ? OF_ADD : COMMON
  const { words, given } = readWordsAndFlags(`shards ${action}`, argv, kinds)
  const configPath = given.get('config')
  const flags = {
    isJson: given.has('json'),
    ...(configPath === undefined ? {} : { configPath }),
  } as const
  const [name] = words
  if (words.length > (action === 'add' ? 1 : 0))
    throw configInvalid(`shards ${action} takes no argument ${JSON.stringify(words.at(-1))}.`)
  if (action !== 'add') return { ...flags, action }
  if (name === undefined || !given.has('at'))
    throw configInvalid('Name the shard and its first key: freshet shards add three --at 75000')
  const at = wholeNumber('at', given.get('at')!, Number.MIN_SAFE_INTEGER)
  const rowsMax = wholeNumber('rows', given.get('rows') ?? `${ROWS}`, 1)
  return { ...flags, action, name, at, rowsMax, isAtRest: given.has('at-rest') }
}

function wholeNumber(flag: string, text: string, min: number): number {
  const value = Number(text)
  if (/^-?\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value
  throw configInvalid(`--${flag} takes a whole number, not ${JSON.stringify(text)}.`)
}
