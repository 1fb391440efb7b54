/** Opens shards and the arbitrator's log by their addresses. They connect when they are first used. */
import { FreshetError } from '@freshet/protocol'
import type { GlobalLog, Shard } from '../plan/index.js'
import { mariadbShardEngine } from './mariadb-shard-engine.js'
import { postgresShardEngine } from './postgres-shard-engine.js'
import type { ShardEngine } from './shard-engine.js'
import { SqlGlobalLog } from './sql-global-log.js'
import { SqlShard } from './sql-shard.js'

const SESSIONS_MAX = 16

export interface OpenShardOptions {
  readonly name: string
  /** `mariadb://user:password@host/database` or `postgres://...` */
  readonly url: string
  readonly sessionsMax?: number
}

/** Throws CONFIG_INVALID. */
export function openShard({ name, url, sessionsMax }: OpenShardOptions): Shard {
  return new SqlShard(name, engineOf(url, sessionsMax))
}

/** Throws CONFIG_INVALID. */
export function openGlobalLog({ url, sessionsMax }: Omit<OpenShardOptions, 'name'>): GlobalLog {
  return new SqlGlobalLog(engineOf(url, sessionsMax))
}

function engineOf(url: string, sessionsMax = SESSIONS_MAX): ShardEngine {
  const place = placeOf(url)
  const address = { url, place, sessionsMax }
  return /^postgres/.test(url) ? postgresShardEngine(address) : mariadbShardEngine(address)
}

function placeOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed && /^(?:mariadb|mysql|postgres|postgresql):$/.test(parsed.protocol) && parsed.pathname.length > 1) {
    return `${parsed.host}${parsed.pathname}`
  }
  throw new FreshetError(
    'CONFIG_INVALID',
    'The address of a shard must be mariadb://user@host/database or postgres://user@host/database.',
  )
}
