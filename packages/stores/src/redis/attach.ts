/**
 * Making connections: to which Redis, what it is set to, and what it holds. Nothing else is sent before that is known, so that it is
 * noticed whenever this is another one than before, or has lost something.
 */
import { randomUUID } from 'node:crypto'
import type { Position } from '@freshet/core/store'
import { type Client, connectTo, endClient, Script, whereOf } from './client.js'
import type { Layout } from './layout.js'
import type { RedisClock } from './redis-clock.js'
import { unusable } from './redis-errors.js'
import { isClusterNode, type RedisSettings, readSettings } from './redis-settings.js'
import { ATTACH_SCRIPT } from './upkeep-scripts.js'

export interface AttachOptions {
  /** Tried in turn. */
  readonly urls: readonly string[]
  readonly layout: Layout
  readonly clock: RedisClock
}

/** What whoever connects has seen. */
export interface Known {
  readonly log: string
  readonly position: Position
}

export interface Line extends Known {
  readonly client: Client
  /** For what waits. */
  readonly follower: Client
  readonly settings: RedisSettings
}

const attachScript = new Script(ATTACH_SCRIPT)

/** To the first that can be used. `onEnd` is also called for those that could not. */
export async function openLine(options: AttachOptions, known: Known, onEnd: (error: Error) => void): Promise<Line> {
  let reason: unknown
  for (const url of options.urls) {
    try {
      return await attach(options, url, known, onEnd)
    } catch (error) {
      reason = error
    }
  }
  throw reason
}

async function attach(
  { layout, clock }: AttachOptions,
  url: string,
  known: Known,
  onEnd: (error: Error) => void,
): Promise<Line> {
  let client = await connectTo(url, { onEnd })
  try {
    const owner = (await isClusterNode(client)) ? await ownerOf(client, url, layout.head) : url
    if (owner !== url) {
      endClient(client)
      client = await connectTo(owner, { onEnd })
    }
    const settings = await readSettings(client, whereOf(owner))
    const mayHaveLost = settings.durability !== 'disk' || settings.wasPromoted
    const args = [settings.run, mayHaveLost ? '1' : '0', known.log, `${known.position}`, randomUUID()]
    args.push(clock.boot, `${clock.monotonicMs()}`, `${clock.nowMs()}`)
    const reply = await attachScript.run(client, layout.head, args, [layout.meta, layout.log, layout.clocks])
    const [log, position, offset] = (reply as readonly Buffer[]).map(String) as [string, string, string | undefined]
    if (log === 'format') {
      throw unusable(whereOf(owner), `what it holds is of format ${position}, of a newer Freshet; update this one`)
    }
    clock.meet(Number(offset))
    const follower = await connectTo(owner, { onEnd })
    return { client, follower, settings, log, position: Number(position) }
  } catch (error) {
    endClient(client)
    throw error
  }
}

/** In a cluster, all of a store is in one slot: the address of the node that has it. */
async function ownerOf(client: Client, url: string, key: string): Promise<string> {
  const slot = (await client.sendCommand(['CLUSTER', 'KEYSLOT', key])) as number
  const id = String(await client.sendCommand(['CLUSTER', 'MYID']))
  type Node = readonly [host: Buffer, port: number, id: Buffer]
  const ranges = (await client.sendCommand(['CLUSTER', 'SLOTS'])) as unknown as readonly [number, number, Node][]
  const owner = ranges.find(([first, last]) => first <= slot && slot <= last)?.[2]
  if (owner === undefined) throw new Error(`No node of the cluster has slot ${slot}`)
  if (String(owner[2]) === id) return url
  const address = new URL(url)
  // A node that does not know its own address has none to tell: it is where it was found.
  if (String(owner[0]) !== '') address.hostname = String(owner[0])
  address.port = `${owner[1]}`
  return address.href
}
