/**
 * Runs a command that may take long. Ctrl-C and `kill` stop it between two steps, and print `whenStopped`; expected errors are
 * reported in one line.
 */
import { FreshetError } from '@freshet/protocol'
import { ProgressLine } from './progress.js'
import { type Failure, tellFailure } from './tell-failure.js'

export const EXIT_FAILED = 1
const EXIT_STOPPED = 130

export interface LongRun {
  readonly signal: AbortSignal
  readonly progress: ProgressLine
}

export interface LongRunOptions {
  readonly whenStopped: string
  /** Whether a failure is reported as JSON. */
  readonly isJson: boolean
}

export async function untilStopped(
  { whenStopped, isJson }: LongRunOptions,
  run: (run: LongRun) => Promise<number>,
): Promise<number> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)
  const progress = new ProgressLine()
  try {
    return await run({ signal: stopping.signal, progress })
  } catch (error) {
    progress.clear()
    if (stopping.signal.aborted) {
      console.error(whenStopped)
      return EXIT_STOPPED
    }
    // The command line is wrong; `runCommand` reports that.
    if (error instanceof FreshetError && error.code === 'CONFIG_INVALID') throw error
    const foreseen = error instanceof FreshetError ? error : diskRefusal(error as NodeJS.ErrnoException)
    if (foreseen === undefined) throw error
    tellFailure(foreseen, isJson)
    return EXIT_FAILED
  }
}

function diskRefusal({ code, path, message }: NodeJS.ErrnoException): Failure | undefined {
  const text = diskMessage(code, path ?? 'the file', message)
  return code === undefined || text === undefined ? undefined : { code, message: text }
}

function diskMessage(code: string | undefined, place: string, message: string): string | undefined {
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'The disk is full. Make room, and run the same command again.'
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return `This account has no access to ${place}: ${message}`
  if (code === 'ENOENT') return `${place} does not exist.`
  if (code === 'ENOTDIR' || code === 'EEXIST' || code === 'EISDIR') return `${place} cannot be used: ${message}`
  return undefined
}
