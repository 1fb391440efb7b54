/** Load from `wrk`, which is written in C and needs a fraction of the processor time of what it measures. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { UsageError } from '../../harness/usage-error.js'

const WRK = '/usr/bin/wrk'
const CONNECTIONS = 64

export interface Load {
  readonly url: string
  /** A Lua script that chooses the requests. */
  readonly script: string
  readonly seconds: number
  readonly core?: number | undefined
}

export function requireWrk(): void {
  if (!existsSync(WRK))
    throw new UsageError('This bench needs wrk to generate load. Install it: sudo apt-get install wrk')
}

/** Requests per second. Throws if any was answered with an error. */
export async function requestsPerSecond({ url, script, seconds, core }: Load): Promise<number> {
  const pinned = core === undefined ? [] : ['taskset', '-c', String(core)]
  const options = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`]
  const [program, ...args] = [...pinned, WRK, ...options, '-s', script, url]
  const { stdout } = await promisify(execFile)(program!, args)
  const failures = /Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)/.exec(stdout)
  if (failures) throw new Error(`Requests to ${url} failed: ${failures[0]}`)
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  if (!(rate > 0)) throw new Error(`The output of wrk has no request rate:\n${stdout}`)
  return rate
}

/** Requests the paths in turn. The requests are built once, so that the script costs almost nothing. */
export function scriptFor(
  paths: readonly string[],
  headersOf: (index: number) => Readonly<Record<string, string>> = () => ({}),
): string {
  const requests = paths.map((path, i) => `{ ${lua(path)}, { ${fields(headersOf(i))} } }`)
  return [
    'local requests = {}',
    'local next = 0',
    'function init()',
    `  for _, each in ipairs({ ${requests.join(', ')} }) do`,
    '    requests[#requests + 1] = wrk.format("GET", each[1], each[2])',
    '  end',
    'end',
    'function request()',
    '  next = next % #requests + 1',
    '  return requests[next]',
    'end',
  ].join('\n')
}

function fields(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `[${lua(name)}] = ${lua(value)}`)
    .join(', ')
}

function lua(text: string): string {
  return JSON.stringify(text)
}
