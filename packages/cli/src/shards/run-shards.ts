/**
 * `freshet shards init` creates the tables that versions are kept in, on every shard, and the log of global writes. `freshet shards
 * check` compares the config with what the servers hold. Neither changes anything else.
 */
import { FreshetError } from '@freshet/protocol'
import type { ShardsConfig } from '@freshet/server'
import { examineShards } from './examine-shards.js'
import { openDatabase } from './open-database.js'
import type { ShardsLine } from './shards-line.js'

export async function runShards({ action, isJson }: ShardsLine, config: ShardsConfig | null): Promise<number> {
  if (config === null) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'The config names no shards. Add "shards" to freshet.json: docs/shards.md.',
    )
  }
  const database = await openDatabase(config)
  try {
    if (action === 'check') return await check(database, isJson)
    await database.log.init()
    for (const shard of database.shards) await shard.init()
    const shards = database.shards.length
    console.log(isJson ? JSON.stringify({ shards }) : `${shards} shards and the log of global writes are ready.`)
    return 0
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    console.error(error.message)
    return 1
  } finally {
    await database.close()
  }
}

async function check(database: Awaited<ReturnType<typeof openDatabase>>, isJson: boolean): Promise<number> {
  const findings = await examineShards(database)
  if (isJson) {
    console.log(JSON.stringify({ shards: database.shards.length, isWell: findings.length === 0, findings }))
    return findings.length === 0 ? 0 : 1
  }
  for (const finding of findings) console.error(finding)
  if (findings.length === 0) console.log(`${database.shards.length} shards are as the config says, and alike.`)
  return findings.length === 0 ? 0 : 1
}
