/** The log that the configuration asks for, on standard output. */
import { createJsonLog, type Log, type LogFields } from '@freshet/server'
import type { Config } from '../config/options.js'
import { createTextLog } from './text-log.js'

export function createLog({ logFormat, logLevel: level }: Pick<Config, 'logFormat' | 'logLevel'>): Log {
  // Somebody who closes the other end of the pipe (`| head`) must not stop the server.
  process.stdout.on('error', () => undefined)
  const write = (line: string) => void process.stdout.write(line)
  return logFormat === 'json' ? createJsonLog({ level, write }) : createTextLog({ level, write, now: () => new Date() })
}

/** The same log, with these fields in every line. */
export function withFields(log: Log, fields: LogFields): Log {
  return { level: log.level, write: (level, message, more) => log.write(level, message, { ...fields, ...more }) }
}
