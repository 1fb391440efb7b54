/** A real server over the store in memory, in this process, on its own port. */

import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer } from '@freshet/server'
import type { ServerSettings } from '@freshet/server/configuration'

export interface MemoryServer {
  readonly url: string
  readonly port: number
  /** Stops the server and starts another over the same store, at the same address. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export async function startMemoryServer(settings: Partial<ServerSettings> = {}): Promise<MemoryServer> {
  const store = createMemoryStore()
  let server = createFreshetServer({ store, settings })
  const { url, port } = await server.listen({ port: 0 })
  return {
    url,
    port,
    restart: async () => {
      await server.close({ graceMs: 100 })
      server = createFreshetServer({ store, settings })
      await server.listen({ port })
    },
    stop: async () => {
      await server.close({ graceMs: 100 })
      await store.close()
    },
  }
}
