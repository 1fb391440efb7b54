/** The command line of `freshet init NAME`. */
import { configInvalid } from '../config/config-invalid.js'
import { oneWord, readWordsAndFlags } from '../terminal/read-flags.js'

export interface InitLine {
  /** The folder of the new app. */
  readonly folder: string
  /**
   * The folder of a clone of Freshet: the app uses its packages instead of those of the registry. Undefined: the clone that
   * this command runs from, if any.
   */
  readonly link: string | undefined
  /** The app uses the packages of the registry, even if this command runs from a clone. */
  readonly isFromRegistry: boolean
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readInitLine(argv: readonly string[]): InitLine {
  const { words, given } = readWordsAndFlags('init', argv, { values: ['link'], switches: ['registry', 'json'] })
  const folder = oneWord('init', words, 'the folder of the new app: freshet init my-app')
  const [link, isFromRegistry] = [given.get('link'), given.has('registry')]
  if (link !== undefined && isFromRegistry) {
    throw configInvalid('--link and --registry contradict each other. Leave one out.')
  }
  return { folder, link, isFromRegistry, isJson: given.has('json') }
}
