/** The caches to purge on every change: a list of objects, best written in the config file. Its secrets are not shown. */
import { type CacheConfig, type CachesRead, readCaches } from '@freshet/server/configuration'
import type { Environment, ValueKind } from './value-kinds.js'

export const CACHES: ValueKind<readonly CacheConfig[]> = {
  placeholder: 'JSON',
  wants: 'a list of caches, such as [{ "name": "edge", "kind": "varnish", "url": "http://10.0.0.5:6081" }]',
  parse: (text, environment = {}) => {
    const { caches, mistakes } = readText(text, environment)
    return mistakes.length === 0 ? caches : undefined
  },
  mistakes: (text, environment) => readText(text, environment).mistakes,
  show: caches => (caches.length === 0 ? 'none' : caches.map(({ name, kind }) => `${name} (${kind})`).join(', ')),
}

function readText(text: string, environment: Environment): CachesRead {
  try {
    return readCaches(JSON.parse(text), environment)
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    return { caches: [], mistakes: ['The list of caches must be JSON.'] }
  }
}
