/** Makes experiments with real caches say what to install before they begin. */
import { existsSync } from 'node:fs'
import type { Experiment } from '../harness/experiment.js'
import { UsageError } from '../harness/usage-error.js'
import type { CacheKind } from './cache-process.js'

const PROGRAMS: Readonly<Record<CacheKind, string>> = {
  varnish: '/usr/sbin/varnishd',
  squid: '/usr/sbin/squid',
  nginx: '/usr/sbin/nginx',
}

/** A run that refuses to begin without these caches. */
export function withCaches(kinds: readonly CacheKind[], run: Experiment['run']): Experiment['run'] {
  return async context => {
    requireCaches(kinds)
    return run(context)
  }
}

export function requireCaches(kinds: readonly CacheKind[]): void {
  const missing = kinds.filter(kind => !existsSync(PROGRAMS[kind]))
  if (missing.length === 0) return
  const names = missing.join(' ')
  throw new UsageError(`This experiment needs ${names}. Install what is missing: sudo apt-get install ${names}`)
}
