/** How far the store in a Redis has come, even in a replica; 0 if it has not received the store yet. */
import { type Client, connectTo } from '../redis/client.js'
import { eventually } from './eventually.js'
import type { RunningRedis } from './start-redis.js'

/** WAIT would not do: it covers only what the same connection has written. */
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
    // It is still loading its data.
    return 0
  } finally {
    client?.destroy()
  }
}
