/** The client as one ES module, which the server serves at /client.js. The build makes it: it is missing if only the compiler ran. */
import { existsSync } from 'node:fs'
import type { PageFile } from '@freshet/server'

const SCRIPT = 'text/javascript; charset=utf-8'

export async function loadClientModule(): Promise<{ clientModule?: PageFile }> {
  const file = new URL(import.meta.resolve('@freshet/client/browser'))
  if (!existsSync(file)) return {}
  const { lazyFile } = await import('@freshet/console')
  return { clientModule: lazyFile(file, SCRIPT) }
}
