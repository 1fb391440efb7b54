/**
 * `freshet shards init` creates, on every shard, the tables that hold versions, and the log of global writes. `freshet shards
 * check` compares the config with what the servers hold. `freshet shards add` gives a new shard the last part of another shard's
 * keys.
 */
import { FreshetError } from '@freshet/protocol'
import { createJsonLog } from '@freshet/server/configuration'
import { RowPlaces, type SplitProgress, splitShard } from '@freshet/shards'
import type { ShardsConfig } from '@freshet/shards/configuration'
import { ProgressLine } from '../terminal/progress.js'
import { tellFailure } from '../terminal/tell-failure.js'
import { examineShards, lastingTables } from './examine-shards.js'
import { type OpenDatabase, openDatabase } from './open-database.js'
import type { AddLine, ShardsLine } from './shards-line.js'

const LOOK_MS_MAX = 60_000

export async function runShards(line: ShardsLine, config: ShardsConfig | null): Promise<number> {
  if (config === null) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'The config names no shards. Add "shards" to freshet.json; see docs/guides/shards.md.',
    )
  }
  const database = await openDatabase(config)
  try {
    if (line.action === 'check') return await check(line, database)
    if (line.action === 'add') return await add(line, database)
    return await init(line, database)
  } catch (error) {
    if (!(error instanceof FreshetError)) throw error
    tellFailure(error, line.isJson)
    return 1
  } finally {
    await database.close()
  }
}

async function init({ isJson }: ShardsLine, database: OpenDatabase): Promise<number> {
  const { log, shards, map } = database
  const findings = (await Promise.all(shards.map(shard => lastingTables(shard, map)))).flat()
  if (findings.length > 0) throw new FreshetError('SHARD_UNUSABLE', `Nothing was prepared. ${findings.join(' ')}`)
  await log.init()
  await new RowPlaces(database).confirmAll(LOOK_MS_MAX)
  const waiting = shards.filter(({ name }) => !map.shards.includes(name)).map(({ name }) => name)
  for (const shard of shards) await shard.init({ isWaiting: waiting.includes(shard.name) })
  const text = `${shards.length} shards and the log of global writes are ready.`
  console.log(isJson ? JSON.stringify({ shards: shards.length, waiting }) : text)
  return 0
}

async function check({ isJson }: ShardsLine, database: OpenDatabase): Promise<number> {
  let [counted, table] = [0, '']
  const onCount = (next: string) => {
    counted++
    table = next
  }
  const findings = await new ProgressLine().during(
    () =>
      counted === 0 ? { what: 'examining shards', done: 0 } : { what: 'counting tables', done: counted, at: table },
    () => examineShards(database, onCount),
  )
  if (isJson) {
    console.log(JSON.stringify({ shards: database.shards.length, isWell: findings.length === 0, findings }))
    return findings.length === 0 ? 0 : 1
  }
  for (const finding of findings) console.error(finding)
  if (findings.length === 0) console.log(`${database.shards.length} shards match the config and each other.`)
  return findings.length === 0 ? 0 : 1
}

async function add({ name, at, rowsMax, isAtRest, isJson }: AddLine, database: OpenDatabase): Promise<number> {
  if (database.hasLocalWrites && !isAtRest) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'The config allows other programs to write to the shards, and their writes to rows being moved would be lost. Stop other programs from writing to these keys until this command has ended, and confirm that with --at-rest.',
    )
  }
  const log = createJsonLog({ level: 'error', write: line => process.stderr.write(line) })
  const progress = new ProgressLine()
  const onProgress = ({ rowsMoved, rows, from }: SplitProgress) =>
    progress.show({ what: 'moving rows', done: rowsMoved, total: rows, at: `${from}` })
  const result = await splitShard({ database, wish: { name, at }, rowsMax, log, onProgress })
  progress.clear()
  const text = `${name} has the keys from ${at} on; ${result.rowsMoved} rows were moved. Add "from": ${at} to its entry in the config.`
  console.log(isJson ? JSON.stringify({ shard: name, from: result.from, rowsMoved: result.rowsMoved }) : text)
  return 0
}
