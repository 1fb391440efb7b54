/** Runs the suite against one cache: its server behind the cache, its own command-line client in front of it. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { freePort } from '@freshet/engines/under-test/free-port'
import suites, { type SuiteTest } from 'http-cache-tests/tests/index.mjs'
import type { RunningCache } from '../../caches/cache-process.js'

/**
 * Pass or fail for tests of what caches must or should do; yes or no for tests that only ask what they do. Unclear: the test
 * could not be set up, or another test that it depends on has failed.
 */
export type Outcome = 'pass' | 'fail' | 'yes' | 'no' | 'unclear'

export type Outcomes = Readonly<Record<string, Outcome>>

/** As the package's client prints them: true, or the kind and text of the failure. */
type Raw = Readonly<Record<string, true | readonly [kind: string, text: string]>>

const SERVER = fileURLToPath(new URL('./suite-server-process.js', import.meta.url))
const CLIENT = fileURLToPath(import.meta.resolve('http-cache-tests/cli.mjs'))

export const SUITE_TESTS: ReadonlyMap<string, SuiteTest> = new Map(
  suites.flatMap(({ tests }) => tests.filter(test => !test.browser_only).map(test => [test.id, test] as const)),
)

export async function runSuite(start: (origin: string) => Promise<RunningCache>): Promise<Outcomes> {
  const port = await freePort()
  const server = fork(SERVER, [`${port}`], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  try {
    await Promise.race([once(server, 'message'), failing(server)])
    const cache = await start(`http://127.0.0.1:${port}`)
    try {
      return toOutcomes(await runClient(cache.url))
    } finally {
      await cache.stop()
    }
  } finally {
    server.kill('SIGKILL')
  }
}

async function failing(child: ChildProcess): Promise<never> {
  const [code] = (await once(child, 'exit')) as [number | null]
  throw new Error(`The server of http-cache-tests ended with exit code ${code} before it listened.`)
}

/** The client takes its settings from the variables that npm would set. */
async function runClient(url: string): Promise<Raw> {
  const env = { ...process.env, npm_config_base: url, npm_config_id: '', npm_package_config_id: '' }
  const child = spawn(process.execPath, ['--no-warnings', CLIENT], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0 || errors !== '')
    throw new Error(`The client of http-cache-tests ended with exit code ${code}: ${errors}`)
  return JSON.parse(output) as Raw
}

export function toOutcomes(raw: Raw): Outcomes {
  const outcomes = [...SUITE_TESTS.keys()].map(id => [id, outcomeOf(id, raw)] as const)
  return Object.fromEntries(outcomes)
}

/**
 * Whether a cache keeps answers without a lifetime. The suite says that nearly all other tests depend on it not doing so. But
 * whether a cache respects a lifetime can be tested all the same, and our answers always have one.
 */
const KEEPS_WITHOUT_LIFETIME = 'freshness-none'

/** Otherwise judges as the package's own pages do (lib/display.mjs, which needs a browser). */
function outcomeOf(id: string, raw: Raw): Outcome {
  const test = SUITE_TESTS.get(id)
  const result = raw[id]
  if (test === undefined || result === undefined) return 'unclear'
  const others = (test.depends_on ?? []).filter(other => other !== KEEPS_WITHOUT_LIFETIME)
  const isFounded = others.every(other => ['pass', 'yes'].includes(outcomeOf(other, raw)))
  if (!isFounded || (result !== true && result[0] === 'Setup')) return 'unclear'
  if (test.kind === 'check') return result === true ? 'yes' : 'no'
  return result === true ? 'pass' : 'fail'
}
