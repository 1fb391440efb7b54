/** For tests: every route that a server has. */
import type { Store } from '@freshet/core/store'
import { assembleServer } from '../assemble-server.js'
import { SILENT_LOG } from '../monitoring/log.js'
import type { Route } from '../routing/call.js'
import { completeSettings } from '../settings/server-settings.js'

export async function allRoutes(store: Store): Promise<readonly Route[]> {
  const { routes, stop } = assembleServer({
    store,
    settings: completeSettings({}),
    log: SILENT_LOG,
    page: {},
  })
  await stop()
  return routes
}
