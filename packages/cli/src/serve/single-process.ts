/** One process does everything: it opens the store and answers requests. */
import { createFreshetServer } from '@freshet/server'
import { joinShards } from '@freshet/shards'
import { accessOf } from '../access/access-setup.js'
import { openStore } from '../places/open-store.js'
import { type OpenDatabase, openDatabase } from '../shards/open-database.js'
import { ownVersion } from '../terminal/own-version.js'
import { loadClientModule } from './load-client-module.js'
import { loadConsole } from './load-console.js'
import { loadPage } from './load-page.js'
import { openRecording } from './recording-file.js'
import { type RunningServer, type ServeSetup, settingsOf } from './serve-setup.js'
import { loadTracing } from './tracing.js'

export async function startSingleProcess({ config, log }: ServeSetup): Promise<RunningServer> {
  const { store, known } = await openStore(config, log)
  let shards: OpenDatabase | undefined
  try {
    const page = await loadPage(config)
    const { caches } = config
    shards = config.shards ? await openDatabase(config.shards) : undefined
    const { end, ...recorded } = openRecording(config, log, [0, 1])
    const tracing = await loadTracing(process.env, ownVersion())
    const server = createFreshetServer({
      store,
      settings: settingsOf(config),
      log,
      caches,
      ...accessOf(config),
      rulesMemory: known,
      capabilities: [joinShards(shards)],
      ...page,
      ...(await loadConsole(config)),
      ...(await loadClientModule()),
      ...recorded,
      ...(tracing ? { onRequest: tracing.begin } : {}),
    })
    const isEmpty = (await store.buckets()).length === 0
    const { port } = await server.listen({ port: config.port, host: config.host })
    return {
      port,
      isEmpty,
      failed: new Promise(() => undefined),
      stop: async () => {
        await server.close({ graceMs: config.stopMsMax, drainMs: config.drainMs })
        end()
        await tracing?.end()
        await shards?.close()
        await store.close()
      },
      force: () => undefined,
    }
  } catch (error) {
    await shards?.close()
    await store.close()
    throw error
  }
}
