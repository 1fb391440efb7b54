/**
 * What the checksums of the embedded store cost: a program beside the same program in which every checksum is 0. That one
 * is made by a loader hook of Node, which replaces the module that sums; so the product has no switch for it. Hooks
 * have a cost of their own, so both programs have them.
 */
import { existsSync } from 'node:fs'
import type { InitializeHook, LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

const SUMLESS = 'export const addToSum = () => 0'

/** For Node's command line. Throws if there is nothing to replace: both would be the same program. */
export function hookedArguments({ hasChecksums }: { readonly hasChecksums: boolean }): readonly string[] {
  const sums = new URL('./integrity/checksum.js', import.meta.resolve('@freshet/stores/embedded')).href
  if (!existsSync(fileURLToPath(sums))) throw new Error(`There is no ${sums}: what are the checksums of the store now?`)
  const [hooks, options] = [import.meta.url, { data: hasChecksums ? '' : sums }].map(each => JSON.stringify(each))
  const register = `import { register } from 'node:module'; register(${hooks}, ${options})`
  return ['--import', `data:text/javascript,${encodeURIComponent(register)}`]
}

let replaced: string | undefined

/** `module`: what is replaced, as Node names it. */
export const initialize: InitializeHook<string> = module => {
  replaced = module
}

export const load: LoadHook = (url, context, nextLoad) =>
  url === replaced ? { format: 'module', shortCircuit: true, source: SUMLESS } : nextLoad(url, context)
