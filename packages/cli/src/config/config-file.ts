/** Finds and reads `freshet.json`. */
import { readFileSync } from 'node:fs'
import { FreshetError, repeatedMember } from '@freshet/protocol'
import type { ConfigFile } from './read-config.js'

const CONFIG_FILE_DEFAULT = 'freshet.json'

/** A file that was named must exist; otherwise `freshet.json` in the current folder is read if it exists. */
export function readConfigFile(asked: string | undefined): ConfigFile | undefined {
  const path = asked ?? CONFIG_FILE_DEFAULT
  const text = readText(path, asked !== undefined)
  return text === undefined ? undefined : { path, values: parseObject(path, text) }
}

function readText(path: string, isAskedFor: boolean): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' && !isAskedFor) return undefined
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${message})`
    throw new FreshetError('CONFIG_INVALID', `The config file ${path} ${reason}. Correct --config, or leave it out.`, {
      cause,
    })
  }
}

function parseObject(path: string, text: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // The parser quotes the text at the error, which may be a secret.
    const [reason] = (cause as Error).message.split(/, (?:\.\.\.)?"/)
    throw new FreshetError('CONFIG_INVALID', `The config file ${path} is not JSON: ${reason}.`, { cause })
  }
  const twice = repeatedMember(text)
  if (twice !== undefined) {
    throw new FreshetError(
      'CONFIG_INVALID',
      `The config file ${path} has ${JSON.stringify(twice)} twice in one object.`,
    )
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new FreshetError('CONFIG_INVALID', `The config file ${path} must hold one object, such as { "port": 7700 }.`)
}
