/**
 * The same work in Redis with the driver, each write on disk before the answer. `driver`: the store's writes in one MULTI: the
 * value, its bucket's index and version, the log, the head. `bare`: a SET alone.
 */
import { createClient, RESP_TYPES } from '@redis/client'
import { BODY, type EnginesSettings, type Target } from './engine-target.js'

export async function openRedisTarget({ kind, url, server }: EnginesSettings): Promise<Target> {
  const options = { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } }
  const client = createClient({ url, RESP: 2, commandOptions: options })
  await client.connect()
  const get = (key: string) => client.sendCommand(['GET', `value:${key}`])
  const set = (key: string) => ['SET', `value:${key}`, BODY]
  if (kind === 'bare') return { commit: ([key]) => client.sendCommand(set(key!)), get, batch: 1 }
  let position = 0
  return {
    commit: ([key]) => {
      position++
      return client
        .multi()
        .addCommand(set(key!))
        .addCommand(['ZADD', 'ids', '0', key!])
        .addCommand(['HSET', 'buckets', 'a/b', `${position}`])
        .addCommand(['XADD', `log-${server}`, '*', 'keys', key!])
        .addCommand(['SET', `head-${server}`, `${position}`])
        .exec()
    },
    get,
    batch: 1,
  }
}
