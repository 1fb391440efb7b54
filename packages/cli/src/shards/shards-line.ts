/** The command line of `freshet shards init` and `freshet shards check`. */
import { readAction, readFlags } from '../command/read-flags.js'

export interface ShardsLine {
  readonly command: 'shards'
  readonly action: 'init' | 'check'
  readonly configPath?: string
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readShardsLine([word, ...argv]: readonly string[]): ShardsLine {
  const action = readAction('shards', word, ['init', 'check'])
  const given = readFlags(`shards ${action}`, argv, { config: { type: 'string' }, json: { type: 'boolean' } })
  const configPath = given.get('config')
  return { command: 'shards', action, isJson: given.has('json'), ...(configPath === undefined ? {} : { configPath }) }
}
