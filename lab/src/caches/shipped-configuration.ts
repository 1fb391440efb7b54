/** The configuration files of `deploy/`, as shipped, with only addresses, folders and the secret filled in. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DEPLOY = new URL('../../../deploy/', import.meta.url)

/** Every text to replace must be in the file, or the tested file is not the one that ships. */
export function shippedConfiguration(name: string, replacements: Readonly<Record<string, string>>): string {
  const path = fileURLToPath(new URL(name, DEPLOY))
  let text = readFileSync(path, 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from))
      throw new Error(`${path} no longer contains '${from}'. Update the replacement in lab/src/caches.`)
    text = text.replaceAll(from, to)
  }
  return text
}

/** Where a cache fetches from. */
export interface Origin {
  readonly host: string
  readonly port: string
}

export function originOf(url: string): Origin {
  const { hostname, port } = new URL(url)
  return { host: hostname, port }
}

export const SECRET = 'secret-of-this-run'
/** As shipped; users of the file must change it. */
export const SECRET_SHIPPED = 'change-me'
