/** The server's log: one JSON object per line. */
export type LogLevel = 'off' | 'error' | 'info' | 'request'

export type LogFields = Readonly<Record<string, unknown>>

export interface Log {
  /** At `request`, also a line for every request, which costs a few microseconds each. */
  readonly level: LogLevel
  write(level: Exclude<LogLevel, 'off'>, message: string, fields?: LogFields): void
}

export interface JsonLogOptions {
  readonly level?: LogLevel
  /** Takes one line, with its line break. */
  readonly write: (line: string) => void
}

const RANK: Readonly<Record<LogLevel, number>> = { off: 0, error: 1, info: 2, request: 3 }

export function createJsonLog({ level = 'info', write }: JsonLogOptions): Log {
  return {
    level,
    write(lineLevel, message, fields = {}) {
      if (RANK[lineLevel] > RANK[level]) return
      write(`${JSON.stringify({ time: new Date().toISOString(), level: lineLevel, message, ...fields })}\n`)
    },
  }
}

export const SILENT_LOG: Log = { level: 'off', write: () => undefined }

/** An error and its causes, as far as a line can contain them. */
export function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) }
  const { code } = error as { code?: unknown }
  return {
    error: error.message,
    ...(code === undefined ? {} : { code }),
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  }
}
