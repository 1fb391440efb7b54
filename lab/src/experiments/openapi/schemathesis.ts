/** Schemathesis (https://schemathesis.readthedocs.io) generates requests from an OpenAPI document and checks the answers. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../harness/usage-error.js'

const VERSION = '4.32.5'
const HOME = join(tmpdir(), `freshet-schemathesis-${VERSION}-${process.getuid?.() ?? 0}`)
const PROGRAM = join(HOME, 'bin', 'schemathesis')

/** The checks for an answer: no 5xx, and everything that the document says about it. */
const CHECKS = [
  ...['not_a_server_error', 'status_code_conformance', 'content_type_conformance'],
  ...['response_headers_conformance', 'response_schema_conformance'],
]

/** Names of existing objects, so that some requests find something. */
const CONFIG = `
[dictionaries]
namespaces = { values = ["shop"] }
buckets = { values = ["products", "files", "views", "new"] }
ids = { values = ["1", "2", "new"] }
segments = { values = ["1-2"] }
codes = { values = ["FORBIDDEN"] }
[parameters]
"path.namespace" = { dictionary = "namespaces", probability = 0.8 }
"path.bucket" = { dictionary = "buckets", probability = 0.8 }
"path.id" = { dictionary = "ids", probability = 0.7 }
"path.segments" = { dictionary = "segments", probability = 0.5 }
"path.code" = { dictionary = "codes", probability = 0.5 }
`

export interface Ran {
  readonly cases: number
  readonly serverErrors: number
  readonly violations: number
  /** The kind of each finding, and the operations in which it occurred. */
  readonly found: readonly string[]
}

export interface RunOptions {
  readonly url: string
  readonly token: string | undefined
  readonly seed: number
  readonly casesPerOperation: number
  /** For the files of the run; the caller removes it. */
  readonly folder: string
}

/** Installs into its own folder, if it is not there yet. Throws a UsageError that says what is missing. */
export async function installSchemathesis(): Promise<void> {
  if (existsSync(PROGRAM)) return
  const steps: readonly (readonly [string, ...string[]])[] = [
    ['python3', '-m', 'venv', HOME],
    [join(HOME, 'bin', 'pip'), 'install', '--quiet', '--disable-pip-version-check', `schemathesis==${VERSION}`],
  ]
  for (const [program, ...args] of steps) {
    const { code, output } = await run(program, args)
    if (code === 0) continue
    throw new UsageError(
      `This experiment needs schemathesis ${VERSION}, and could not install it into ${HOME}: ${[program, ...args].join(' ')} failed: ` +
        `${output.trim().slice(-300)}. It needs Python 3.10 or later with venv (apt-get install python3-venv), and access to PyPI.`,
    )
  }
}

/** All other operations run first, so that they do not find the buckets deleted. */
const DELETING = ['deleteBucket', 'deleteNamespace']
/** A stream does not end. */
const ENDLESS = ['followEvents']

export async function runSchemathesis(options: RunOptions): Promise<Ran> {
  const others = await runOperations(options, ids('--exclude-operation-id', [...ENDLESS, ...DELETING]))
  const deleting = await runOperations(options, ids('--include-operation-id', DELETING))
  return {
    cases: others.cases + deleting.cases,
    serverErrors: others.serverErrors + deleting.serverErrors,
    violations: others.violations + deleting.violations,
    found: [...others.found, ...deleting.found],
  }
}

function ids(option: string, operations: readonly string[]): readonly string[] {
  return operations.flatMap(id => [option, id])
}

async function runOperations(
  { url, token, seed, casesPerOperation, folder }: RunOptions,
  chosen: readonly string[],
): Promise<Ran> {
  const report = join(folder, 'report.json')
  await rm(report, { force: true })
  const config = join(folder, 'schemathesis.toml')
  await writeFile(config, CONFIG)
  const args = [
    ...['--config-file', config, 'run', `${url}/openapi.json`, '--checks', CHECKS.join()],
    ...[...chosen, '--phases', 'examples,coverage,fuzzing'],
    ...['-n', `${casesPerOperation}`, '--seed', `${seed}`, '--request-timeout', '20', '--max-redirects', '0'],
    ...['--suppress-health-check', 'all', '--continue-on-failure', '--no-color', '--generation-database', 'none'],
    ...['--report', 'json', '--report-json-path', report],
    ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
  ]
  const { output } = await run(PROGRAM, args, folder)
  return readReport(await readFile(report, 'utf8').catch(() => undefined), output)
}

interface Report {
  readonly complete: boolean
  readonly test_cases: { readonly generated: number }
  readonly failures: readonly Failure[]
  readonly errors: readonly unknown[]
}

interface Failure {
  readonly type: string
  readonly title: string
  readonly count: number
  readonly operations: readonly string[]
}

/** Throws if the run did not finish. */
export function readReport(text: string | undefined, output: string): Ran {
  const report = text === undefined ? undefined : (JSON.parse(text) as Report)
  if (report === undefined || !report.complete || report.errors.length > 0) {
    throw new Error(`schemathesis did not finish: ${output.trim().slice(-2000)}`)
  }
  const count = (isCounted: (failure: Failure) => boolean) =>
    report.failures.filter(isCounted).reduce((sum, failure) => sum + failure.count, 0)
  return {
    cases: report.test_cases.generated,
    serverErrors: count(({ type }) => type === 'ServerError'),
    violations: count(({ type }) => type !== 'ServerError'),
    found: report.failures.map(({ title, operations }) => `${title}: ${operations.join(', ')}`),
  }
}

/** `folder`: the working directory of the run, which may leave files there. */
async function run(
  program: string,
  args: readonly string[],
  folder = tmpdir(),
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  } catch (error) {
    return { code: null, output: String(error) }
  }
}
