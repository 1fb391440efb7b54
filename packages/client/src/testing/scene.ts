/** A session with an origin whose only object changed longer than a window ago, so that any unexpired copy of it is current. */
import { connect } from '../connect.js'
import type { ConnectOptions } from '../connect-options.js'
import type { Database } from '../database.js'
import type { ReadEvent } from '../reading/served.js'
import { FakeOrigin } from './fake-origin.js'

export interface Scene {
  readonly origin: FakeOrigin
  readonly db: Database
  readonly reads: ReadEvent[]
}

export async function createScene(options: ConnectOptions = {}): Promise<Scene> {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  origin.nowMs += 2 * origin.windowMs
  const reads: ReadEvent[] = []
  const { fetch, clock } = origin
  const onRead = (event: ReadEvent) => reads.push(event)
  const db = await connect(origin.url, { fetch, clock, onRead, random: () => 0, memoryBytesMax: 0, ...options })
  origin.sent.length = 0
  return { origin, db, reads }
}

/** Holds back the first answer to a matching target until the returned function is called. */
export function holdFirstAnswer(origin: FakeOrigin, isHeld: (target: string) => boolean): () => void {
  let release = () => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  let isFirst = true
  origin.onWayBack = async ({ target }) => {
    if (isFirst && isHeld(target)) {
      isFirst = false
      await held
    }
    return undefined
  }
  return release
}
