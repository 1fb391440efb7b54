/** How far the store in a Redis has come, be it a replica of the one that is written to; 0 if it has not heard of it yet. */
import { type Client, connectTo } from '../redis/client.js'
import { eventually } from './eventually.js'
import type { RunningRedis } from './start-redis.js'

/** WAIT would not tell: it is about what the same connection has written. */
export async function untilReached(replica: RunningRedis, position: number): Promise<void> {
  await eventually('the replica has it', async () => (await headOf(replica)) >= position)
}

async function headOf({ url }: RunningRedis): Promise<number> {
  let client: Client | undefined
  try {
    client = await connectTo(url)
    const head = await client.sendCommand(['GET', '{freshet:main}:head'])
    return head === null ? 0 : Number.parseInt(String(head), 10)
  } catch {
    // It is reading what it has been sent.
    return 0
  } finally {
    client?.destroy()
  }
}
