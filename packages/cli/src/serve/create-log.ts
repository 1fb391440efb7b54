/** The log that the configuration asks for, on standard output. */
import { format } from 'node:util'
import { createJsonLog, type Log, type LogFields } from '@freshet/server/configuration'
import type { Config } from '../config/options.js'
import { createTextLog } from './text-log.js'

export function createLog({ logFormat, logLevel: level }: Pick<Config, 'logFormat' | 'logLevel'>): Log {
  // Somebody who closes the other end of the pipe (`| head`) must not stop the server.
  process.stdout.on('error', () => undefined)
  const write = (line: string) => void process.stdout.write(line)
  const log =
    logFormat === 'json' ? createJsonLog({ level, write }) : createTextLog({ level, write, now: () => new Date() })
  logConsole(log)
  return log
}

/** What libraries print becomes lines of the log: LMDB prints every refusal of the disk, stack and all, between its lines. */
function logConsole(log: Log): void {
  const print = (...parts: unknown[]) => log.write('error', 'a library reports', { text: format(...parts) })
  Object.assign(console, { error: print, warn: print, log: print, info: print })
}

/** The same log, with these fields in every line. */
export function withFields(log: Log, fields: LogFields): Log {
  return { level: log.level, write: (level, message, more) => log.write(level, message, { ...fields, ...more }) }
}
