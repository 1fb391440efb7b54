/** The log that the configuration asks for, on standard output. */
import { format } from 'node:util'
import { createJsonLog, type Log, type LogFields } from '@freshet/server/configuration'
import type { Config } from '../config/options.js'
import { createTextLog } from './text-log.js'

export function createLog({ logFormat, logLevel: level }: Pick<Config, 'logFormat' | 'logLevel'>): Log {
  // Closing the other end of the pipe (`| head`) must not stop the server.
  process.stdout.on('error', () => undefined)
  const write = (line: string) => void process.stdout.write(line)
  const log =
    logFormat === 'json' ? createJsonLog({ level, write }) : createTextLog({ level, write, now: () => new Date() })
  logConsole(log)
  return log
}

/** Turns what libraries print into log lines: LMDB prints every disk error, with its stack, between the lines of the log. */
function logConsole(log: Log): void {
  const print = (...parts: unknown[]) => log.write('error', 'message from a library', { text: format(...parts) })
  Object.assign(console, { error: print, warn: print, log: print, info: print })
}

/** The same log, with these fields in every line. */
export function withFields(log: Log, fields: LogFields): Log {
  return { level: log.level, write: (level, message, more) => log.write(level, message, { ...fields, ...more }) }
}
