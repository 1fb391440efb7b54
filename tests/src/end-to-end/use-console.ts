/** For tests of the console: one server and one browser for all of them. */
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { startChromium } from './chromium.js'
import {
  type ConsoleServer,
  type ConsoleServerOptions,
  fill,
  startConsoleServer,
  type Watched,
  watch,
} from './console-scene.js'
import { endFreshetProcesses } from './freshet-process.js'

export interface ServedConsole {
  server: ConsoleServer
  browser: Browser
}

export interface UsedConsole extends ServedConsole {
  watched: Watched
}

/** A server and a browser for all tests of a `describe`, ready from the first test on. `prepare` runs before the first test. */
export function serveConsole(
  options: ConsoleServerOptions | (() => Promise<ConsoleServerOptions>) = {},
  prepare: (server: ConsoleServer) => Promise<unknown> = async () => undefined,
): ServedConsole {
  const served = {} as ServedConsole

  beforeAll(async () => {
    served.server = await startConsoleServer(typeof options === 'function' ? await options() : options)
    await prepare(served.server)
    served.browser = await startChromium()
  })

  afterAll(async () => {
    await served.browser?.close()
    await served.server?.stop()
    await endFreshetProcesses()
  })

  return served
}

/** The same, watched during each test: the page must report no error. `isFilled`: with data of every kind. */
export function useConsole({
  isFilled,
  ...options
}: ConsoleServerOptions & { readonly isFilled: boolean }): UsedConsole {
  const used = serveConsole(options, async server => isFilled && fill(server)) as UsedConsole

  beforeEach(async () => {
    used.watched = await watch(used.browser, used.server.url)
  })

  afterEach(async () => {
    await used.watched.close()
    expect(used.watched.complaints).toEqual([])
  })

  return used
}
