/**
 * Reads through the whole of Freshet, with its cache: a client in Node, which keeps what it has read, of a server over the store. Meanwhile
 * somebody else changes some of it all the time; the client is told, and fetches that again.
 */
import { connect } from '@freshet/client'
import { BODY, type EnginesSettings, type Target } from './engine-target.js'

const MEMORY_BYTES_MAX = 64 * 1024 * 1024
const WRITES_PER_SECOND = 50
const BUCKET = 'a/b'
const IN_FLIGHT = 64

export async function openCachedTarget({ kind, served }: EnginesSettings, keys: readonly string[]): Promise<Target> {
  const db = await connect(served!, { refresh: 'push', memoryBytesMax: MEMORY_BYTES_MAX })
  const bucket = db.bucket(BUCKET)
  const ids = keys.map(key => key.slice(BUCKET.length + 1))
  const value = JSON.parse(String(BODY)) as Record<string, unknown>
  for (let from = 0; from < ids.length; from += IN_FLIGHT) {
    await Promise.all(ids.slice(from, from + IN_FLIGHT).map(id => bucket.put(id, value)))
  }
  const other = (await connect(served!)).bucket(BUCKET)
  const options = kind === 'current' ? ({ read: 'current' } as const) : {}
  let next = 0
  return {
    get: key => bucket.get(key.slice(BUCKET.length + 1), options),
    batch: 1,
    disturb() {
      const timer = setInterval(() => {
        next = (next + 37) % ids.length
        void other.put(ids[next]!, value)
      }, 1000 / WRITES_PER_SECOND)
      return () => clearInterval(timer)
    },
  }
}
