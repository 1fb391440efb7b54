/**
 * One test run: makes sure that the services that tests start are installed, runs vitest, and ends with one plain line,
 * `N passed, N failed`. `run.ts` starts it with the arguments for vitest.
 */
import { fileURLToPath } from 'node:url'
import { createVitest, parseCLI, type TestModule, TestsNotFoundError, type Vitest } from 'vitest/node'
import { canInstall, installPackages } from './debian.js'
import { countOutcome, isSuccess, lastLine, type Outcome, slowestFiles } from './outcome.js'
import { type Missing, provideServices, SKIP_VARIABLE, services } from './services.js'

const SLOWEST_SHOWN = 10
const NOTHING: Outcome = { passed: 0, failed: 0, skipped: 0 }
const repository = fileURLToPath(new URL('../../../', import.meta.url))

const outcome = await run(process.argv.slice(2))
console.log(lastLine(outcome))
process.exit(isSuccess(outcome) ? 0 : 1)

async function run(args: readonly string[]): Promise<Outcome> {
  let vitest: Vitest | undefined
  try {
    const { filter, options } = parseCLI(['vitest', 'run', ...args])
    vitest = await createVitest('test', { root: repository, ...options, run: true, watch: false })
    const missing = await provide(vitest.projects.map(project => project.name))
    const counted = await runVitest(vitest, filter)
    return { ...counted, failed: counted.failed + missing.failed.length }
  } catch (error) {
    console.error(error)
    return { ...NOTHING, failed: 1 }
  } finally {
    await vitest?.close()
  }
}

async function provide(suites: readonly string[]): Promise<Missing> {
  const say = (line: string) => console.log(line)
  const missing = await provideServices(services, suites, {
    isCi: process.env.CI === 'true',
    canInstall: canInstall(),
    install: packages => installPackages(packages, say),
    say,
  })
  // Tests read this through `reasonToSkip`.
  process.env[SKIP_VARIABLE] = missing.leftOut.join(',')
  return missing
}

async function runVitest(vitest: Vitest, filter: string[]): Promise<Outcome> {
  try {
    const result = await vitest.start(filter)
    if (result.testModules.length > SLOWEST_SHOWN) tellSlowest(result.testModules)
    const counted = countOutcome(result)
    // Vitest also fails a run for errors outside of tests, such as in a global teardown, and shows that only in the exit code.
    return process.exitCode && counted.failed === 0 ? { ...counted, failed: 1 } : counted
  } catch (error) {
    if (error instanceof TestsNotFoundError) return NOTHING
    throw error
  }
}

function tellSlowest(modules: readonly TestModule[]): void {
  console.log(['The slowest files:', ...slowestFiles(modules, SLOWEST_SHOWN)].join('\n'))
}
