/**
 * What the checksums of the embedded store cost: a program whose checksums are computed twice, now and then, beside itself.
 * Two processes of one program differ by more than the checksums cost; one process does not.
 *
 * A loader hook of Node replaces the module that sums, so the product has no switch for it. Each SIGUSR2 switches between
 * once and twice; within the process, so does `setTwice`.
 */
import { existsSync, readFileSync } from 'node:fs'
import type { InitializeHook, LoadHook } from 'node:module'
import { fileURLToPath } from 'node:url'

const FLAG = 'freshetSumsTwice'
const SUMS = /export function addToSum\(([^)]*)\)/

/** For Node's command line. Throws if there is nothing to replace: both would be the same program. */
export function hookedArguments(): readonly string[] {
  const sums = new URL('./integrity/checksum.js', import.meta.resolve('@freshet/engines/lmdb')).href
  const path = fileURLToPath(sums)
  if (!existsSync(path) || !SUMS.test(readFileSync(path, 'utf8'))) {
    throw new Error(`There is no addToSum in ${path}: what are the checksums of the store now?`)
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
 * `module`: what is replaced, as Node names it.
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
