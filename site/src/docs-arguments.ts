/** The command line of `npm run docs`. */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export interface DocsArguments {
  /** The folder that the site is built into. */
  readonly out?: string
  /** Undefined: the site is only built. */
  readonly serve?: ServeOptions
}

export interface ServeOptions {
  /** Undefined: the usual port, or the next free one. */
  readonly port: number | undefined
  readonly opens: boolean
}

/** A command line that cannot be run. Its message is for the user who typed it, and is shown without a stack trace. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const PORT_MAX = 65_535
const USAGE = `Usage: npm run docs [-- OPTIONS]

Builds the documentation, serves it to this machine at http://localhost:7790 or the next free port, and opens it in a browser.

  --port N    serve on this port; 0 is any free port
  --no-open   do not open a browser
  --out DIR   build into this folder, and do not serve it`

export function readArguments(argv: readonly string[]): DocsArguments {
  const { out, port, 'no-open': staysClosed } = parse(argv)
  if (out === undefined) return { serve: { port: readPort(port), opens: !staysClosed } }
  if (out === '') throw new UsageError(`--out takes the name of a folder.\n\n${USAGE}`)
  if (port !== undefined || staysClosed)
    throw new UsageError(`With --out the site is not served, so --port and --no-open have no effect.\n\n${USAGE}`)
  return { out: resolve(out) }
}

function parse(argv: readonly string[]) {
  const options = { out: { type: 'string' }, port: { type: 'string' }, 'no-open': { type: 'boolean' } } as const
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true })
    if (positionals.length === 0) return values
    throw new Error(`Unknown argument "${positionals[0]}".`)
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${USAGE}`, { cause: error })
  }
}

function readPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text) && Number(text) <= PORT_MAX) return Number(text)
  throw new UsageError(`--port takes a port from 0 (any free port) to ${PORT_MAX}, not "${text}".\n\n${USAGE}`)
}
