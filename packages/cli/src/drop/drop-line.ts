/** The command line of `freshet drop NAME`: a bucket or a namespace to delete. */
import { checkName, parseBucketName } from '@freshet/protocol'
import { configInvalid } from '../config/config-invalid.js'
import { flagUrl } from '../terminal/flag-values.js'
import { readWordsAndFlags } from '../terminal/read-flags.js'

export interface DropLine {
  /** `shop/products`, or `shop`. */
  readonly name: string
  readonly url: string
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readDropLine(argv: readonly string[]): DropLine {
  const { words, given } = readWordsAndFlags('drop', argv, { values: ['url'], switches: ['yes', 'json'] })
  const [name, more] = words
  if (name === undefined) throw configInvalid('Name a bucket or a namespace: freshet drop shop/products --yes.')
  if (more !== undefined) throw configInvalid(`drop takes one name, not also ${JSON.stringify(more)}.`)
  checkBucketOrNamespace(name)
  const url = flagUrl('drop', given)
  if (!given.has('yes')) {
    const what = name.includes('/') ? `the bucket ${name}` : `every bucket of the namespace ${name}`
    throw configInvalid(
      `This would delete ${what}, with all objects, settings and schemas, for good. Add --yes to confirm.`,
    )
  }
  return { name, url, isJson: given.has('json') }
}

function checkBucketOrNamespace(name: string): void {
  try {
    if (name.includes('/')) parseBucketName(name)
    else checkName('namespace', name)
  } catch (cause) {
    throw configInvalid((cause as Error).message, cause)
  }
}
