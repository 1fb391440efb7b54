/**
 * What the checksums of the embedded store cost: the same program beside one in which every checksum is 0. That one is
 * made by a loader hook of Node, which replaces the module that sums; so the product has no switch for it.
 */
import { existsSync } from 'node:fs'
import type { LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

/** The module that is replaced, as Node names it. */
const SUMS = new URL('./integrity/checksum.js', import.meta.resolve('@freshet/stores/embedded')).href
const SUMLESS = 'export const addToSum = () => 0'

/** For Node's command line. Throws if there is nothing to replace: both would be the same program. */
export function argumentsWithoutChecksums(): readonly string[] {
  if (!existsSync(fileURLToPath(SUMS))) throw new Error(`There is no ${SUMS}: what are the checksums of the store now?`)
  const register = `import { register } from 'node:module'; register(${JSON.stringify(import.meta.url)})`
  return ['--import', `data:text/javascript,${encodeURIComponent(register)}`]
}

export const load: LoadHook = (url, context, nextLoad) =>
  url === SUMS ? { format: 'module', shortCircuit: true, source: SUMLESS } : nextLoad(url, context)
