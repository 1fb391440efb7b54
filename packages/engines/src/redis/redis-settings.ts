/**
 * The settings of a Redis, and so what its acknowledgements are worth.
 *
 * With `appendfsync always` nothing is visible before it is on disk: Redis works through the commands of all of its clients and
 * collects the answers, then flushes (`flushAppendOnlyFile`), and only then sends any answer
 * (`handleClientsWithPendingWrites`), both in `beforeSleep` of server.c. The rest of an answer that is too long for its socket
 * is sent behind a barrier (`AE_BARRIER` in networking.c), so not before the next flush either. And Redis ends itself if a
 * flush fails.
 */
import type { StoreSupports } from '@freshet/core/store'
import type { Client } from './client.js'
import { REDIS_VERSION_MIN } from './layout.js'
import { unusable, wordOf } from './redis-errors.js'

export interface RedisSettings {
  /** Changes with each start of the Redis process. */
  readonly run: string
  readonly isCluster: boolean
  readonly durability: StoreSupports['durability']
  /** It was a replica of another Redis, and may lack writes that the other had acknowledged. */
  readonly wasPromoted: boolean
  /** What an operator should know. */
  readonly warnings: readonly string[]
}

const ASKED = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy', 'save'] as const
type Config = Partial<Record<(typeof ASKED)[number], string>>

/** Throws STORE_UNUSABLE if Redis would lose data, or cannot run the scripts; passes on its other errors. */
export async function readSettings(client: Client, where: string): Promise<RedisSettings> {
  const facts = factsOf(String(await client.sendCommand(['INFO'])))
  const version = facts.get('redis_version') ?? '0'
  if (Number.parseInt(version, 10) < REDIS_VERSION_MIN) {
    throw unusable(where, `it has version ${version}, and ${REDIS_VERSION_MIN} or newer is needed`)
  }
  // Before anything else is asked: otherwise a replica that takes over meanwhile would not be recognised as a former replica.
  if (facts.get('role') !== 'master') throw new Error('it is a replica, which takes no writes')
  const config = await readConfig(client)
  const policy = config?.['maxmemory-policy'] ?? 'noeviction'
  if (policy !== 'noeviction') {
    throw unusable(where, `its maxmemory-policy is ${policy}, so it would evict data; set it to noeviction`)
  }
  return {
    run: facts.get('run_id') ?? '',
    isCluster: facts.get('cluster_enabled') === '1',
    durability: durabilityOf(config),
    wasPromoted: /[^0]/.test(facts.get('master_replid2') ?? ''),
    warnings: warningsOf(config, facts, where),
  }
}

/** Whether it belongs to a cluster, so that slots may be at other nodes. */
export async function isClusterNode(client: Client): Promise<boolean> {
  return factsOf(String(await client.sendCommand(['INFO', 'cluster']))).get('cluster_enabled') === '1'
}

function factsOf(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter(line => line.includes(':') && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/** Undefined if CONFIG GET is not allowed, as in some hosted services. */
async function readConfig(client: Client): Promise<Config | undefined> {
  try {
    const parts = (await client.sendCommand(['CONFIG', 'GET', ...ASKED])) as readonly Buffer[]
    const pairs = parts.flatMap((name, i) => (i % 2 === 0 ? [[String(name), String(parts[i + 1])]] : []))
    return Object.fromEntries(pairs) as Config
  } catch (error) {
    if (wordOf(error) === undefined) throw error
    return undefined
  }
}

function durabilityOf(config: Config | undefined): StoreSupports['durability'] {
  if (config?.appendonly !== 'yes') return 'none'
  const isFlushed = config.appendfsync === 'always' && config['no-appendfsync-on-rewrite'] === 'no'
  return isFlushed ? 'disk' : 'relaxed'
}

function warningsOf(config: Config | undefined, facts: ReadonlyMap<string, string>, where: string): string[] {
  const warnings: string[] = []
  const durability = durabilityOf(config)
  if (config === undefined) {
    warnings.push(
      `Redis at ${where} does not return its settings (CONFIG GET): acknowledged writes are assumed to be in memory alone.`,
    )
  } else if (durability === 'none') {
    const saved = config.save ? `everything written since its last snapshot (save ${config.save})` : 'everything'
    warnings.push(
      `Redis at ${where} has appendonly no: when it ends, ${saved} is lost. Set appendonly yes and appendfsync always.`,
    )
  } else if (durability === 'relaxed') {
    const which =
      config.appendfsync === 'always' ? 'no-appendfsync-on-rewrite yes' : `appendfsync ${config.appendfsync}`
    warnings.push(
      `Redis at ${where} has ${which}: when its machine goes down, acknowledged writes may be lost. ` +
        'Set appendfsync always and no-appendfsync-on-rewrite no.',
    )
  }
  if (Number(facts.get('connected_slaves') ?? 0) > 0) {
    warnings.push(
      `Redis at ${where} has replicas: it does not wait for them, so if one takes over, acknowledged writes may be lost.`,
    )
  }
  return warnings
}
