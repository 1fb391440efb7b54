/**
 * Measures the cost of the embedded store's checksums: one program that computes its checksums once or twice by turns. Two
 * processes of the same program differ by more than the checksums cost, so both modes run in one process.
 *
 * A loader hook of Node replaces the module that sums, so the product needs no switch for it. Each SIGUSR2 switches between
 * once and twice; within the process, so does `setTwice`.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { InitializeHook, LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

const FLAG = 'freshetSumsTwice'
const SUMS = /export function addToSum\(([^)]*)\)/

/** Arguments for Node's command line. Throws if there is nothing to replace: both modes would be the same program. */
export function hookedArguments(): readonly string[] {
  const sums = new URL('./integrity/checksum.js', import.meta.resolve('@freshet/engines/lmdb')).href
  const path = fileURLToPath(sums)
  if (!existsSync(path) || !SUMS.test(readFileSync(path, 'utf8'))) {
    throw new Error(`${path} has no addToSum. Update checksum-hooks.ts to the function that sums now.`)
  }
  const [hooks, options] = [import.meta.url, { data: sums }].map(each => JSON.stringify(each))
  const lines = [
    `import { register } from 'node:module'`,
    `register(${hooks}, ${options})`,
    `process.on('SIGUSR2', () => { globalThis.${FLAG} = !globalThis.${FLAG} })`,
  ]
  return ['--import', `data:text/javascript,${encodeURIComponent(lines.join('\n'))}`]
}

export function setTwice(isTwice: boolean): void {
  Object.assign(globalThis, { [FLAG]: isTwice })
}

let replaced: string | undefined

/**
 * `module`: the module to replace, as Node names it.
 *
 * @public Node calls it.
 */
export const initialize: InitializeHook<string> = module => {
  replaced = module
}

/** @public Node calls it. */
export const load: LoadHook = (url, context, nextLoad) => {
  if (url !== replaced) return nextLoad(url, context)
  const source = readFileSync(fileURLToPath(url), 'utf8')
  const [, parameters] = SUMS.exec(source)!
  const once = source.replace(SUMS, `function once(${parameters})`)
  const twice = `export function addToSum(${parameters}) { if (globalThis.${FLAG}) once(${parameters}); return once(${parameters}) }`
  return { format: 'module', shortCircuit: true, source: `${once}\n${twice}` }
}
