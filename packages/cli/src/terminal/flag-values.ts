/** Reads the values of a command's flags. Every function throws CONFIG_INVALID with what the flag takes. */
import { parseBucketName } from '@freshet/protocol'
import { configInvalid } from '../config/config-invalid.js'
import type { OptionValue, ValueKind } from '../config/value-kinds.js'

/** A value of the kind, such as `500ms`. */
export function flagValue<Value extends OptionValue>(flag: string, text: string, kind: ValueKind<Value>): Value {
  const value = kind.parse(text)
  if (value !== undefined) return value
  throw configInvalid(`${flag} takes ${kind.wants}, not ${JSON.stringify(text)}.`)
}

/** The value of `--bucket`. */
export function flagBucket(text: string): string {
  try {
    parseBucketName(text)
    return text
  } catch (cause) {
    throw configInvalid(`--bucket: ${(cause as Error).message}`, cause)
  }
}

/** The address of a server, without a slash at its end. */
export function serverAddress(flag: string, text: string, example = 'http://localhost:7700'): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password
  if (isPlain && url.pathname === '/') return url.origin
  throw configInvalid(`${flag} takes an address such as ${example}, without a path, not ${JSON.stringify(text)}.`)
}

/** The value of `--url`. */
export function flagUrl(command: string, given: ReadonlyMap<string, string>): string {
  const url = given.get('url')
  if (url === undefined) throw configInvalid(`Name the server: freshet ${command} --url http://localhost:7700`)
  return serverAddress('--url', url)
}
