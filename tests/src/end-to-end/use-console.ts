/** For tests of the console: one server and one browser for all of them, and for each test somebody who watches. Nothing may go wrong in the page. */
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

export interface UsedConsole {
  server: ConsoleServer
  browser: Browser
  watched: Watched
}

/** Its members are there from the first test on. `isFilled`: with something of everything. */
export function useConsole({
  isFilled,
  ...options
}: ConsoleServerOptions & { readonly isFilled: boolean }): UsedConsole {
  const used = {} as UsedConsole

  beforeAll(async () => {
    used.server = await startConsoleServer(options)
    if (isFilled) await fill(used.server)
    used.browser = await startChromium()
  })

  afterAll(async () => {
    await used.browser?.close()
    await used.server?.stop()
    await endFreshetProcesses()
  })

  beforeEach(async () => {
    used.watched = await watch(used.browser, used.server.url)
  })

  afterEach(async () => {
    await used.watched.close()
    expect(used.watched.complaints).toEqual([])
  })

  return used
}
