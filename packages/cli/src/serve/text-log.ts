/** The log as text: one line per message, beginning with the time of day. `serve` logs JSON instead. */
import type { Log, LogLevel } from '@freshet/server/configuration'

export interface TextLogOptions {
  readonly level: LogLevel
  /** Takes one line, with its line break. */
  readonly write: (line: string) => void
  readonly now: () => Date
}

const RANK: Readonly<Record<LogLevel, number>> = { off: 0, error: 1, info: 2, request: 3 }

export function createTextLog({ level, write, now }: TextLogOptions): Log {
  return {
    level,
    write(lineLevel, message, fields = {}) {
      if (RANK[lineLevel] > RANK[level]) return
      const time = now().toTimeString().slice(0, 8)
      const details = Object.entries(fields).map(([name, value]) => ` ${name}=${show(value)}`)
      write(`${time} ${lineLevel.padEnd(7)} ${message}${details.join('')}\n`)
    },
  }
}

function show(value: unknown): string {
  return typeof value === 'string' && /^[\w./:?=&%+-]+$/.test(value) ? value : JSON.stringify(value)
}
