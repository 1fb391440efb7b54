/** The version of this package, and so of the command. */
import { readFileSync } from 'node:fs'

export function ownVersion(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
