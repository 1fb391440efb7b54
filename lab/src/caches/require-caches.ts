/** Experiments with real caches say what to install, rather than fail half way. */
import { existsSync } from 'node:fs'
import { UsageError } from '../harness/usage-error.js'
import type { CacheKind } from './cache-process.js'

const PROGRAMS: Readonly<Record<CacheKind, string>> = {
  varnish: '/usr/sbin/varnishd',
  squid: '/usr/sbin/squid',
  nginx: '/usr/sbin/nginx',
}

export function requireCaches(kinds: readonly CacheKind[]): void {
  const missing = kinds.filter(kind => !existsSync(PROGRAMS[kind]))
  if (missing.length === 0) return
  const names = missing.join(' ')
  throw new UsageError(`This experiment needs ${names}. Install what is missing: sudo apt-get install ${names}`)
}
