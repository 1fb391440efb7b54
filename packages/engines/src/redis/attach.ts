/**
 * Connects to Redis: finds it, reads its settings, and checks what it holds. No other command is sent before that, so that a
 * server notices whenever this is another Redis than before, or has lost data.
 */
import { randomUUID } from 'node:crypto'
import type { LogPlace } from '@freshet/core/store'
import type { SharedClock } from '@freshet/store/clock'
import type { Known } from '@freshet/store/engine'
import { type Addresses, atHost } from './addresses.js'
import { type Client, connectTo, endClient, orEnd, Script, whereOf } from './client.js'
import type { Layout } from './layout.js'
import { unusable } from './redis-errors.js'
import { isClusterNode, type RedisSettings, readSettings } from './redis-settings.js'
import { ATTACH_SCRIPT } from './upkeep-scripts.js'

export interface AttachOptions {
  readonly addresses: Addresses
  readonly layout: Layout
  readonly clock: SharedClock
}

export interface Line extends LogPlace {
  readonly client: Client
  /** The connection for commands that wait. */
  readonly follower: Client
  readonly settings: RedisSettings
}

const attachScript = new Script(ATTACH_SCRIPT)

/** Connects to the first address that can be used. `onEnd` is also called for the connections to the others. */
export async function openLine(options: AttachOptions, known: Known, onEnd: (error: Error) => void): Promise<Line> {
  let reason: unknown
  for (const find of options.addresses.inTurn()) {
    try {
      return await attach(options, await find(), known, onEnd)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

async function attach(options: AttachOptions, url: string, known: Known, onEnd: (error: Error) => void): Promise<Line> {
  const clients: Client[] = []
  const endAll = () => clients.forEach(endClient)
  const connect = async (to: string) => {
    const client = await connectTo(to, { onEnd })
    clients.push(client)
    return client
  }
  try {
    return await orEnd(attachBy(connect, options, url, known), endAll)
  } catch (error) {
    endAll()
    throw error
  }
}

async function attachBy(
  connect: (url: string) => Promise<Client>,
  { layout, clock, addresses }: AttachOptions,
  url: string,
  known: Known,
): Promise<Line> {
  let client = await connect(url)
  const owner = (await isClusterNode(client)) ? await ownerOf(client, url, layout.head, addresses) : url
  if (owner !== url) {
    endClient(client)
    client = await connect(owner)
  }
  const settings = await readSettings(client, whereOf(owner))
  // A Redis that was started again while no server was following it may have been restored from older files.
  const wasFollowing = known.log !== '' && known.isRecalled !== true
  const mayHaveLost = settings.durability !== 'disk' || settings.wasPromoted || !wasFollowing
  const args = [settings.run, mayHaveLost ? '1' : '0', known.log, `${known.position}`, randomUUID()]
  args.push(clock.boot, `${clock.monotonicMs()}`, `${clock.nowMs()}`)
  const reply = await attachScript.run(client, layout.head, args, [layout.meta, layout.log, layout.clocks])
  const [log, position, offset] = (reply as readonly Buffer[]).map(String) as [string, string, string | undefined]
  if (log === 'format') {
    throw unusable(whereOf(owner), `its data has format ${position}, of a newer Freshet; update this one`)
  }
  clock.meet(Number(offset))
  const follower = await connect(owner)
  addresses.use(owner)
  return { client, follower, settings, log, position: Number(position) }
}

/** The host is empty or null if a node does not know its own: then it is the host where the node was found. */
type Node = readonly [host: Buffer | null, port: number, id: Buffer]

/** The address of the node that holds the store: in a cluster, all of a store is in one slot. The other nodes are learnt. */
async function ownerOf(client: Client, url: string, key: string, addresses: Addresses): Promise<string> {
  const slot = (await client.sendCommand(['CLUSTER', 'KEYSLOT', key])) as number
  const id = String(await client.sendCommand(['CLUSTER', 'MYID']))
  const reply = await client.sendCommand(['CLUSTER', 'SLOTS'])
  const ranges = reply as unknown as readonly (readonly [first: number, last: number, ...nodes: Node[]])[]
  const at = ([host, port]: Node) => atHost(url, String(host ?? ''), port)
  addresses.learn(ranges.flatMap(([, , ...nodes]) => nodes.map(at)))
  const owner = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2]
  if (owner === undefined) throw new Error(`No node of the cluster has slot ${slot}`)
  return String(owner[2]) === id ? url : at(owner)
}
