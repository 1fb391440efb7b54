/**
 * One counter and many clients, each on its own connection, that wait for each answer. Ours over HTTP, with ids, on disk before
 * the acknowledgement; Redis with a script that adds if the id is new, and appendfsync always.
 */
import { startSlowOrigin } from '../../caches/slow-origin.js'
import { type FoundReply, openSocket, PipelinedConnection } from '../../engines/pipelined-connection.js'
import { RedisConnection, startRedis } from '../../engines/redis.js'
import type { Contender } from '../../harness/side-by-side.js'

export const FRESHET = 'freshet over HTTP'
export const REDIS = 'redis'

export interface NetworkContender extends Contender<'add'> {
  stop(): Promise<void>
}

export interface NetworkSettings {
  readonly clients: number
  readonly additions: number
}

type Add = (sequence: number) => Promise<unknown>

/** For a fair comparison with ours: Redis remembers the id with its effect, for as long as we do. */
const SCRIPT = `if redis.call('SET', KEYS[2], '1', 'NX', 'EX', 86400) then return redis.call('INCR', KEYS[1]) end
return redis.call('GET', KEYS[1])`

export async function startFreshetContender({ clients, additions }: NetworkSettings): Promise<NetworkContender> {
  const origin = await startSlowOrigin({ settings: {}, lateShare: 0, lateMs: 0, durability: 'disk' })
  const connections: HttpConnection[] = []
  try {
    const headers = { 'Content-Type': 'application/json' }
    const body = '{"kind":"counter"}'
    const response = await fetch(`${origin.url}/db/bench/counters`, { method: 'PUT', headers, body })
    if (!response.ok) throw new Error(await response.text())
    const { timeMs } = (await (await fetch(`${origin.url}/time`)).json()) as { timeMs: number }
    const aheadMs = timeMs - performance.now()
    const port = Number(new URL(origin.url).port)
    const adds: Add[] = []
    for (let i = 0; i < clients; i++) {
      const connection = await HttpConnection.open(port)
      connections.push(connection)
      adds.push(sequence => {
        const id = `f1.client-of-bench-${i}.${sequence}.${sequence - 1}.${Math.floor(performance.now() + aheadMs)}`
        return connection.post('/db/bench/counters/hot', id, '{"add":1}')
      })
    }
    const stop = async () => {
      for (const connection of connections) connection.close()
      await origin.stop()
    }
    return { name: FRESHET, round: rounds(adds, additions), stop }
  } catch (error) {
    await origin.stop()
    throw error
  }
}

export async function startRedisContender({ clients, additions }: NetworkSettings): Promise<NetworkContender> {
  const redis = await startRedis({ isDurable: true })
  const connections: RedisConnection[] = []
  for (let i = 0; i < clients; i++) connections.push(await RedisConnection.open(redis.port))
  const sha = await connections[0]!.command('SCRIPT', 'LOAD', SCRIPT)
  const adds = connections.map((connection, i): Add => {
    return sequence => connection.command('EVALSHA', sha, '2', 'hot', `client-of-bench-${i}:${sequence}`)
  })
  const stop = async () => {
    for (const connection of connections) connection.close()
    await redis.stop()
  }
  return { name: REDIS, round: rounds(adds, additions), stop }
}

function rounds(adds: readonly Add[], additions: number): () => Promise<{ add: number }> {
  const sequences = adds.map(() => 0)
  return async () => {
    let left = additions
    const startMs = performance.now()
    const work = async (add: Add, i: number) => {
      while (left-- > 0) await add(++sequences[i]!)
    }
    await Promise.all(adds.map(work))
    return { add: ((performance.now() - startMs) * 1e6) / additions }
  }
}

class HttpConnection extends PipelinedConnection<undefined> {
  static async open(port: number): Promise<HttpConnection> {
    return new HttpConnection(await openSocket(port))
  }

  async post(path: string, key: string, body: string): Promise<void> {
    await this.request(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    )
  }

  protected override replyIn(text: string): FoundReply<undefined> | undefined {
    const headEnd = text.indexOf('\r\n\r\n')
    if (headEnd < 0) return undefined
    const bodyLength = /content-length: *(\d+)/i.exec(text)?.[1]
    const length = headEnd + 4 + Number(bodyLength ?? 0)
    if (text.length < length) return undefined
    const isDone = text.startsWith('HTTP/1.1 200 ') && bodyLength !== undefined
    return { reply: isDone ? undefined : new Error(`The server did not add: ${text}`), length }
  }
}
