/** Reads `[--port N]`, or the port from the environment variable PORT. */
import { parseArgs } from 'node:util'
import { UsageError } from '../harness/usage-error.js'

const PORT_DEFAULT = 7700
const USAGE = 'Usage: npm run filters -- [--port N]'

export function readPort(argv: readonly string[], environment: Readonly<Record<string, string | undefined>>): number {
  const fromFlag = parsePortFlag(argv)
  if (fromFlag !== undefined) return toPort(fromFlag, '--port')
  return environment.PORT ? toPort(environment.PORT, 'PORT') : PORT_DEFAULT
}

function parsePortFlag(argv: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...argv], options: { port: { type: 'string' } } }).values.port
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`, { cause: error })
  }
}

function toPort(text: string, name: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new UsageError(`${name} takes a port from 0 (any free port) to 65535, not "${text}".\n${USAGE}`)
}
