/** The command line of `freshet drop NAME`: a bucket, or a namespace, to be deleted. */
import { checkName, FreshetError, parseBucketName } from '@freshet/protocol'
import { readWordsAndFlags, serverAddress } from '../command/read-flags.js'

export interface DropLine {
  readonly command: 'drop'
  /** `shop/products`, or `shop`. */
  readonly name: string
  readonly url: string
  readonly isJson: boolean
}

/** Throws CONFIG_INVALID. */
export function readDropLine(argv: readonly string[]): DropLine {
  const { words, given } = readWordsAndFlags('drop', argv, {
    url: { type: 'string' },
    yes: { type: 'boolean' },
    json: { type: 'boolean' },
  })
  const [name, more] = words
  if (name === undefined) throw invalid('Name a bucket or a namespace: freshet drop shop/products --yes')
  if (more !== undefined) throw invalid(`${JSON.stringify(more)} is one word too many for drop: it takes one name`)
  checkBucketOrNamespace(name)
  const url = serverAddress('drop', given.get('url'))
  if (!given.has('yes')) {
    const what = name.includes('/') ? `the bucket ${name}` : `every bucket of the namespace ${name}`
    throw invalid(`This would delete ${what}, with all objects, settings and schemas, for good. Add --yes to do it`)
  }
  return { command: 'drop', name, url, isJson: given.has('json') }
}

function checkBucketOrNamespace(name: string): void {
  try {
    if (name.includes('/')) parseBucketName(name)
    else checkName('namespace', name)
  } catch (cause) {
    throw invalid((cause as Error).message.replace(/\.$/, ''))
  }
}

function invalid(why: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', `${why}.`)
}
