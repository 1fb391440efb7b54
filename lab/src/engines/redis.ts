/**
 * A real Redis of its own (`@freshet/engines/under-test/redis`), and connections to it. A connection writes each command at once;
 * answers come in the order of the commands (RESP 2, https://redis.io/docs/reference/protocol-spec).
 */
import { DURABLE, type RunningRedis, startRedis as start } from '@freshet/engines/under-test/redis'
import { type FoundReply, openSocket, PipelinedConnection } from './pipelined-connection.js'

export { isRedisInstalled, type RunningRedis } from '@freshet/engines/under-test/redis'

/** `isDurable`: acknowledged writes are on disk. Otherwise it keeps everything in memory only. */
export function startRedis({ isDurable }: { readonly isDurable: boolean }): Promise<RunningRedis> {
  return start(isDurable ? { settings: DURABLE } : {})
}

/** For commands whose replies are single values: a line, a number, or text. */
export class RedisConnection extends PipelinedConnection<string> {
  static async open(port: number): Promise<RedisConnection> {
    return new RedisConnection(await openSocket(port))
  }

  command(...parts: readonly string[]): Promise<string> {
    const text = parts.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')
    return this.request(`*${parts.length}\r\n${text}`)
  }

  protected override replyIn(text: string): FoundReply<string> | undefined {
    const end = text.indexOf('\r\n')
    if (end < 0) return undefined
    const line = text.slice(1, end)
    const size = text[0] === '$' ? Number(line) : -1
    const length = size < 0 ? end + 2 : end + 2 + size + 2
    if (text.length < length) return undefined
    const reply = size < 0 ? line : text.slice(end + 2, end + 2 + size)
    return { reply: text[0] === '-' ? new Error(`Redis refused: ${reply}`) : reply, length }
  }
}
