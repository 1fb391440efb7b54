/** Opens a store in a process beside the one that writes to it, such as a worker of a cluster. */
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import { EngineStore } from '@freshet/store'
import type { ReaderChannel } from './channel.js'
import { openEnvironment } from './environment.js'
import { storeClosed } from './lmdb-errors.js'
import { LmdbReaderEngine } from './lmdb-reader-engine.js'
import { checkFormat, openingFailed } from './store-folder.js'
import { WriterLine } from './writer-line.js'

export interface EmbeddedReaderOptions {
  /** The folder that the writer has open. */
  readonly path: string
  /** Leads to the writer, which has passed its own end to `serveReaders(store).attach`. */
  readonly channel: ReaderChannel
  /** How many entries a query may examine for one page; 10,000 by default. */
  readonly scanMax?: number
}

/** Resolves once the writer has answered. Throws the errors of the writer's store, or STORE_CLOSED if the channel ends. */
export async function openEmbeddedReader(options: EmbeddedReaderOptions): Promise<EngineStore<LmdbReaderEngine>> {
  const { path, channel, scanMax = SCAN_MAX_DEFAULT } = options
  const line = new WriterLine(path, channel)
  const attached = await line.attach()
  try {
    const environment = await openEnvironment({ path, mode: 'reading', inspect: meta => checkFormat(path, meta) })
    return new EngineStore({ engine: new LmdbReaderEngine({ path, line, environment, attached }), scanMax })
  } catch (error) {
    line.end(storeClosed(path))
    throw openingFailed(path, error)
  }
}
