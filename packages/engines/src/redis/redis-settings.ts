/**
 * What a Redis is set to, and so what its word is worth.
 *
 * With `appendfsync always` nothing is visible before it is on disk: Redis collects what it has to say to all of its
 * clients while it works off what they have sent, then flushes (`flushAppendOnlyFile`), and only then answers anybody
 * (`handleClientsWithPendingWrites`), both in `beforeSleep` of server.c; an answer too long for its socket goes on behind a barrier
 * (`AE_BARRIER` in networking.c), so not before the next flush either. And it ends itself if a flush fails.
 */
import type { StoreSupports } from '@freshet/core/store'
import type { Client } from './client.js'
import { REDIS_VERSION_MIN } from './layout.js'
import { unusable, wordOf } from './redis-errors.js'

export interface RedisSettings {
  /** Another one after each start of the Redis process. */
  readonly run: string
  readonly isCluster: boolean
  readonly durability: StoreSupports['durability']
  /** It was another's replica, and may not have got everything that one had acknowledged. */
  readonly wasPromoted: boolean
  /** What an operator should know. */
  readonly warnings: readonly string[]
}

const ASKED = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy', 'save'] as const
type Config = Partial<Record<(typeof ASKED)[number], string>>

/** Throws STORE_UNUSABLE if it would lose data, or cannot run the scripts; passes on what it answers else. */
export async function readSettings(client: Client, where: string): Promise<RedisSettings> {
  const facts = factsOf(String(await client.sendCommand(['INFO'])))
  const version = facts.get('redis_version') ?? '0'
  if (Number.parseInt(version, 10) < REDIS_VERSION_MIN) {
    throw unusable(where, `it is of version ${version}, and ${REDIS_VERSION_MIN} is needed`)
  }
  // Before anything else is asked: one that takes over meanwhile would not be seen to have been a replica.
  if (facts.get('role') !== 'master') throw new Error('it is a replica, which takes no writes')
  const config = await readConfig(client)
  const policy = config?.['maxmemory-policy'] ?? 'noeviction'
  if (policy !== 'noeviction') {
    throw unusable(where, `its maxmemory-policy is ${policy}, so it would throw data away; set it to noeviction`)
  }
  return {
    run: facts.get('run_id') ?? '',
    isCluster: facts.get('cluster_enabled') === '1',
    durability: durabilityOf(config),
    wasPromoted: /[^0]/.test(facts.get('master_replid2') ?? ''),
    warnings: warningsOf(config, facts, where),
  }
}

/** Whether its slots may be at other nodes. */
export async function isClusterNode(client: Client): Promise<boolean> {
  return factsOf(String(await client.sendCommand(['INFO', 'cluster']))).get('cluster_enabled') === '1'
}

function factsOf(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter(line => line.includes(':') && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/** Undefined where it may not be asked for, as with some who rent Redis out. */
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
      `Redis at ${where} does not say how it is set (CONFIG GET): acknowledged writes are taken to be in memory alone.`,
    )
  } else if (durability === 'none') {
    const saved = config.save ? `what was written since its last snapshot (save ${config.save})` : 'everything'
    warnings.push(
      `Redis at ${where} has appendonly no: when it ends, ${saved} is lost. Set appendonly yes and appendfsync always.`,
    )
  } else if (durability === 'relaxed') {
    const which =
      config.appendfsync === 'always' ? 'no-appendfsync-on-rewrite yes' : `appendfsync ${config.appendfsync}`
    warnings.push(
      `Redis at ${where} has ${which}: when its machine goes down, acknowledged writes may be lost. Set appendfsync always and no-appendfsync-on-rewrite no.`,
    )
  }
  if (Number(facts.get('connected_slaves') ?? 0) > 0) {
    warnings.push(
      `Redis at ${where} has replicas: it does not wait for them, so if one takes over, acknowledged writes may be lost.`,
    )
  }
  return warnings
}
