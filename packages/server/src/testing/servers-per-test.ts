/** For tests: servers that run until the end of the test that started them. */
import { afterEach } from 'vitest'
import type { FreshetServerOptions } from '../freshet-server.js'
import { type RunningServer, startServer } from './running-server.js'

/** Call once in a file, or in a `describe`. */
export function serversPerTest(): (options: FreshetServerOptions) => Promise<RunningServer> {
  const started: RunningServer[] = []
  afterEach(async () => {
    for (const running of started.splice(0)) await running.stop()
  })
  return async options => {
    const running = await startServer(options)
    started.push(running)
    return running
  }
}
