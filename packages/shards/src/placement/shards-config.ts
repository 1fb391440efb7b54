/**
 * The shards and the tables on them, as a config file describes them:
 *
 *   { "shards": [{ "name": "east", "url": "mariadb://...", "from": 0 },
 *                { "name": "west", "url": "mariadb://...", "from": 50000 }],
 *     "sharded": { "employees": "emp_no", "salaries": "emp_no" }, "global": ["departments"],
 *     "arbitrator": "mariadb://...", "localWrites": true }
 *
 * Each shard has the keys from its `from` up to the `from` of the next shard; a shard without `from` waits until `freshet shards
 * add` gives it some keys. If no shard has `from`, the hash of a key places it: the first 32 bits of the MD5 of its digits,
 * modulo the number of shards.
 */
import { hash } from 'node:crypto'
import type { Dialect, Placement, ShardMap } from '../plan/index.js'

export interface ShardsConfig {
  readonly shards: readonly { readonly name: string; readonly url: string; readonly from?: number }[]
  /** Each sharded table with the column that is its key, a whole number. */
  readonly sharded: Readonly<Record<string, string>>
  /** Tables that are the same on every shard. */
  readonly global?: readonly string[]
  /** Where the log of global writes is; the first shard unless given. */
  readonly arbitrator?: string
  /**
   * Whether others write to the shards directly, not through the arbitrator; true unless given. Then no cache may keep results.
   */
  readonly localWrites?: boolean
}

export interface ShardsRead {
  readonly config: ShardsConfig | undefined
  readonly map: ShardMap | undefined
  /** All mistakes in it, without addresses, which contain passwords. */
  readonly mistakes: readonly string[]
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/
const MEMBERS = ['shards', 'sharded', 'global', 'arbitrator', 'localWrites']
const SHARD_MEMBERS = ['name', 'url', 'from']
const ENGINES: Readonly<Record<string, Dialect>> = {
  'mariadb:': 'mariadb',
  'mysql:': 'mariadb',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
}

export function readShards(value: unknown): ShardsRead {
  const mistakes = mistakesIn(value)
  if (mistakes.length > 0) return { config: undefined, map: undefined, mistakes }
  const config = value as ShardsConfig
  const { shards, sharded, global = [] } = config
  const map: ShardMap = {
    dialect: dialectOf(shards[0]!.url)!,
    ...placementOf(config),
    sharded,
    global,
  }
  return { config, map, mistakes: [] }
}

function placementOf({ shards }: ShardsConfig): Pick<ShardMap, 'shards' | 'placement'> {
  const ranged = shards.filter(({ from }) => from !== undefined)
  const placement: Placement =
    ranged.length > 0
      ? { kind: 'ranges', from: ranged.map(({ from }) => from!) }
      : { kind: 'hash', hashOf: key => Number.parseInt(hash('md5', `${key}`, 'hex').slice(0, 8), 16) }
  return { shards: (ranged.length > 0 ? ranged : shards).map(({ name }) => name), placement }
}

function mistakesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ['It must be an object.']
  const { shards, sharded, global = [], arbitrator, localWrites = true } = value as Record<string, unknown>
  return [
    ...unknownMembers(value, MEMBERS).map(name => `There is no member ${name}; ${MEMBERS.join(', ')} are known.`),
    ...mistakesInShards(shards),
    ...(isRecordOfText(sharded) ? [] : ['sharded must be an object: each sharded table with its key column.']),
    ...(Array.isArray(global) && global.every(each => typeof each === 'string')
      ? []
      : ['global must be a list of tables.']),
    ...(arbitrator === undefined || dialectOf(arbitrator)
      ? []
      : ['arbitrator must be an address such as mariadb://user@host/database.']),
    ...(typeof localWrites === 'boolean' ? [] : ['localWrites must be true or false.']),
    ...(isRecordOfText(sharded) && Array.isArray(global)
      ? global.filter(table => Object.hasOwn(sharded, String(table)))
      : []
    ).map(table => `${table} cannot be sharded and global.`),
  ]
}

function mistakesInShards(shards: unknown): readonly string[] {
  if (!Array.isArray(shards) || shards.length === 0) return ['shards must be a list of at least one.']
  const list = shards as readonly Readonly<Record<string, unknown>>[]
  const names = list.map(shard => shard?.name)
  const dialects = new Set(list.map(shard => dialectOf(shard?.url)))
  const ranged = list.filter(shard => shard?.from !== undefined)
  const isRising = ranged.every(
    (shard, i) => Number.isSafeInteger(shard.from) && (i === 0 || Number(shard.from) > Number(ranged[i - 1]!.from)),
  )
  return [
    ...list.flatMap((shard, i) =>
      unknownMembers(shard, SHARD_MEMBERS).map(
        name => `Shard ${i + 1}: there is no member ${name}; ${SHARD_MEMBERS.join(', ')} are known.`,
      ),
    ),
    ...(names.every(name => typeof name === 'string' && NAME.test(name))
      ? []
      : ['Each shard needs a name of letters, digits, dots, dashes.']),
    ...(new Set(names).size === names.length ? [] : ['Two shards have the same name.']),
    ...(dialects.has(undefined)
      ? ['Each shard needs a url such as mariadb://user@host/database or postgres://user@host/database.']
      : []),
    ...(dialects.size > 1 && !dialects.has(undefined) ? ['Shards must all be MariaDB, or all be PostgreSQL.'] : []),
    ...(isRising ? [] : ['from must be whole numbers that rise from shard to shard.']),
  ]
}

function unknownMembers(value: unknown, known: readonly string[]): readonly string[] {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : []
  return names.filter(name => !known.includes(name)).map(name => JSON.stringify(name))
}

function isRecordOfText(value: unknown): value is Readonly<Record<string, string>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject && Object.values(value).every(each => typeof each === 'string')
}

function dialectOf(url: unknown): Dialect | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { protocol, pathname } = new URL(url)
  return pathname.length > 1 ? ENGINES[protocol] : undefined
}
