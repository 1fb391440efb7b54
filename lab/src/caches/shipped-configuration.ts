/** The configuration files of `deploy/`, as shipped: only addresses, folders and the secret are put in. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const DEPLOY = new URL('../../../deploy/', import.meta.url)

/** Every text that is to be replaced must be there, or the file that is tested is not the one that is shipped. */
export function shippedConfiguration(name: string, replacements: Readonly<Record<string, string>>): string {
  const path = fileURLToPath(new URL(name, DEPLOY))
  let text = readFileSync(path, 'utf8')
  for (const [from, to] of Object.entries(replacements)) {
    if (!text.includes(from)) throw new Error(`${path} has no '${from}' any more. Say in lab/src/caches what it has.`)
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
/** As shipped, to be changed by whoever uses the file. */
export const SECRET_SHIPPED = 'change-me'
