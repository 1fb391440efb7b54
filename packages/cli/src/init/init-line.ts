/** The command line of `freshet init NAME`. */
import { FreshetError } from '@freshet/protocol'
import { readWordsAndFlags } from '../command/read-flags.js'

export interface InitLine {
  readonly command: 'init'
  /** Of the app, to be made. */
  readonly folder: string
  /** Of a clone of Freshet, whose packages are used instead of those of the registry. Undefined: that which this command is of, if it is of one. */
  readonly link: string | undefined
  /** The packages of the registry, in any case. */
  readonly isFromRegistry: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readInitLine(argv: readonly string[]): InitLine {
  const { words, given } = readWordsAndFlags('init', argv, {
    link: { type: 'string' },
    registry: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [folder, more] = words
  if (folder === undefined || more !== undefined) {
    throw new FreshetError('CONFIG_INVALID', 'init takes the folder of the new app: freshet init my-app')
  }
  const [link, isFromRegistry] = [given.get('link'), given.has('registry')]
  if (link !== undefined && isFromRegistry) {
    throw new FreshetError('CONFIG_INVALID', '--link and --registry contradict each other. Leave one out.')
  }
  return { command: 'init', folder, link, isFromRegistry, isJson: given.has('json') }
}
