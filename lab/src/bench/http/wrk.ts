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

export interface WrkRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Reads the paths in turn. */
export function scriptFor(
  paths: readonly string[],
  headersOf: (index: number) => Readonly<Record<string, string>> = () => ({}),
): string {
  return scriptOf(paths.map((path, i) => ({ path, headers: headersOf(i) })))
}

/** Sends the requests in turn. They are built once, so that the script costs almost nothing. */
export function scriptOf(requests: readonly WrkRequest[]): string {
  return [
    'local requests = {}',
    'local next = 0',
    'function init()',
    `  for _, each in ipairs({ ${requests.map(fields).join(', ')} }) do`,
    '    requests[#requests + 1] = wrk.format(each[1], each[2], each[3], each[4])',
    '  end',
    'end',
    'function request()',
    '  next = next % #requests + 1',
    '  return requests[next]',
    'end',
  ].join('\n')
}

function fields({ method = 'GET', path, headers = {}, body }: WrkRequest): string {
  const pairs = Object.entries(headers).map(([name, value]) => `[${lua(name)}] = ${lua(value)}`)
  return `{ ${lua(method)}, ${lua(path)}, { ${pairs.join(', ')} }, ${body === undefined ? 'nil' : lua(body)} }`
}

/** For texts without control characters, which JSON and Lua write in different ways. */
function lua(text: string): string {
  return JSON.stringify(text)
}
