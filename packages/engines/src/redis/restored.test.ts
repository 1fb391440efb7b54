/** A Redis that was restored from older files while no server ran: the store begins another log. */
import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { afterEach, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openRedisStore } from './open-redis-store.js'

const stores: Store[] = []
const engines: RunningRedis[] = []
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const engine of engines.splice(0)) await engine.stop()
})

const start = async (settings: Readonly<Record<string, string>>) => {
  const redis = await startRedis({ settings })
  engines.push(redis)
  return redis
}

const openAt =
  ({ url }: RunningRedis) =>
  async (recalled?: LogPlace) => {
    const store = await openRedisStore({ url, onWarning: () => {}, recalled })
    stores.push(store)
    return store
  }

test('copying back the files of the AOF begins another log', async () => {
  const redis = await start(DURABLE)
  const [files, copy] = [join(redis.folder, 'appendonlydir'), join(redis.folder, 'copy')]
  const { lost, store } = await restoreUnnoticed({
    open: openAt(redis),
    backUp: () => cpSync(files, copy, { recursive: true }),
    restore: async () => {
      await redis.kill()
      rmSync(files, { recursive: true })
      cpSync(copy, files, { recursive: true })
      await redis.restart()
    },
  })
  await expectAnotherLog(store, lost)
})

test('copying back the RDB file that redis-cli --rdb has made begins another log', async () => {
  const redis = await start({ save: '3600 1' })
  const copy = join(redis.folder, 'copy.rdb')
  const { lost, store } = await restoreUnnoticed({
    open: openAt(redis),
    backUp: () => void execFileSync('redis-cli', ['-p', `${redis.port}`, '--rdb', copy], { stdio: 'ignore' }),
    restore: async () => {
      await redis.kill()
      cpSync(copy, join(redis.folder, 'dump.rdb'))
      await redis.restart()
    },
  })
  await expectAnotherLog(store, lost)
})

test('restoring key by key begins another log if an earlier process knew the position, and else goes unnoticed', async () => {
  const redis = await start(DURABLE)
  const ask = (...args: string[]) => execFileSync('redis-cli', ['-p', `${redis.port}`, ...args])
  const keys = () =>
    String(ask('--raw', 'KEYS', '*'))
      .trim()
      .split('\n')
  const { lost, store } = await restoreUnnoticed({
    open: openAt(redis),
    backUp: () => {
      for (const key of keys()) ask('COPY', key, `backup:${key}`, 'DB', '1')
    },
    restore: () => {
      ask('FLUSHDB')
      ask('SWAPDB', '0', '1')
      for (const key of keys()) ask('RENAME', key, key.replace('backup:', ''))
    },
  })
  expect(store.log).toBe(lost.log)
  await store.close()
  await expectAnotherLog(await openAt(redis)(lost), lost)
})

test('a restart of Redis under a server, and of the server over Redis, leave the log as it is', async () => {
  const redis = await start(DURABLE)
  const store = await openAt(redis)()
  const { log } = store
  await put(store, 'a/b/1')
  await redis.kill()
  await redis.restart()
  await put(store, 'a/b/1')
  expect(store.log).toBe(log)
  await store.close()
  expect((await openAt(redis)()).log).toBe(log)
})
