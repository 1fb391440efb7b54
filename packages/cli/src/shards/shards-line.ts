/** The command line of `freshet shards init` and `freshet shards check`. */
import { FreshetError } from '@freshet/protocol'
import { readFlags } from '../command/read-flags.js'

export interface ShardsLine {
  readonly command: 'shards'
  readonly action: 'init' | 'check'
  readonly configPath?: string
}

/** Throws CONFIG_INVALID. */
export function readShardsLine([action, ...argv]: readonly string[]): ShardsLine {
  if (action !== 'init' && action !== 'check') {
    throw new FreshetError('CONFIG_INVALID', 'shards takes what to do: freshet shards init, or freshet shards check.')
  }
  const configPath = readFlags(`shards ${action}`, argv, { config: { type: 'string' } }).get('config')
  return { command: 'shards', action, ...(configPath === undefined ? {} : { configPath }) }
}
