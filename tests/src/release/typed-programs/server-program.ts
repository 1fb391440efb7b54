/**
 * What programs in TypeScript do with the server. `installed-packages.test.ts` compiles this and the program that it imports with every
 * version of TypeScript that is supported, against the packed packages, and runs them.
 */
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, type FreshetServer } from '@freshet/server'
import {
  type CacheConfig,
  createJsonLog,
  DEFAULT_SETTINGS,
  parseRules,
  type RulesRead,
  readCaches,
} from '@freshet/server/configuration'
import { useClient } from './client-program.js'

export async function run(): Promise<string> {
  const store = createMemoryStore()
  const log = createJsonLog({ level: 'error', write: line => process.stderr.write(line) })
  const settings = { lifetimeMs: DEFAULT_SETTINGS.lifetimeMs }
  const server: FreshetServer = createFreshetServer({
    store,
    settings,
    log,
    caches: checked('bucket */*\n  read, write\n'),
  })
  const { url } = await server.listen({ port: 0 })
  try {
    return await useClient(url)
  } finally {
    await server.close({ graceMs: 100 })
    await store.close()
  }
}

/** The caches to notify, once the rules have been found to be right. */
function checked(rules: string): readonly CacheConfig[] {
  const { mistakes }: RulesRead = parseRules(rules)
  const { caches, mistakes: wrong } = readCaches([])
  if (mistakes.length + wrong.length > 0) throw new Error('The configuration is invalid.')
  return caches
}
