/** A client that displays what another program writes, in its own process; `visible-standings.ts` starts it. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { hostInChild } from '../../harness/contender-worker.js'
import { openVisibleWrites, type VisibleWorker } from './visible-writes.js'
import { openZero, type ZeroSettings } from './zero-worker.js'

export type VisibleSettings =
  | ZeroSettings
  | { readonly kind: 'freshet'; readonly url: string; readonly postgresUrl: string }

let worker: VisibleWorker | undefined

hostInChild<VisibleSettings>({
  async prepare(settings) {
    worker = settings.kind === 'zero' ? await openZero(settings) : await openFreshet(settings)
  },
  async round() {
    if (!worker) throw new TypeError('The worker was not prepared.')
    return worker.round()
  },
})

/** The client is sent what changes, and reads again and again: from its memory, until the object has changed. */
async function openFreshet({
  url,
  postgresUrl,
}: Extract<VisibleSettings, { kind: 'freshet' }>): Promise<VisibleWorker> {
  const db = await connect(url, { refresh: 'push' })
  const products = db.bucket<{ n: number }>('shop/products')
  return openVisibleWrites(postgresUrl, async n => {
    while ((await products.get('tea'))!.n < n) await delay(1)
  })
}
