/** The command line of `freshet init NAME`. */
import { FreshetError } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'

export interface InitLine {
  readonly command: 'init'
  /** Of the app, to be made. */
  readonly folder: string
  /** Of a clone of Freshet, whose packages are used instead of those of the registry. */
  readonly link: string | undefined
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readInitLine(argv: readonly string[]): InitLine {
  const { words, given } = readWordsAndFlags('init', argv, { link: { type: 'string' }, json: { type: 'boolean' } })
  const [folder, more] = words
  if (folder === undefined || more !== undefined) {
    throw new FreshetError('CONFIG_INVALID', 'init takes the folder of the new app: freshet init my-app')
  }
  return { command: 'init', folder, link: given.get('link'), isJson: given.has('json') }
}
