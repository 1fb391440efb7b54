/** For tests: a server over a new store in memory, with rules and the key that `bearer` signs with. */
import { createMemoryStore } from '@freshet/engines/memory'
import type { FreshetServerOptions } from '../../freshet-server.js'
import { type RunningServer, startServer } from '../../testing/running-server.js'
import { TOKENS } from './bearer.js'

export function startRuledServer(rules: string, more: Partial<FreshetServerOptions> = {}): Promise<RunningServer> {
  return startServer({ store: createMemoryStore({ positionsAfter: 0 }), access: { rules, tokens: TOKENS }, ...more })
}
