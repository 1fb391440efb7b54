/** Why the server cannot start or go on, in one line that says what to do; undefined for unexpected errors. */
import { FreshetError } from '@freshet/protocol'
import type { Mode } from '../config/option.js'
import type { Config } from '../config/options.js'

export interface RefusalContext {
  readonly mode: Mode
  readonly config: Pick<Config, 'data' | 'host' | 'port'>
  /** Whether it was started by `npm start`, which needs two dashes before options. */
  readonly isNpmStart: boolean
}

export function refusalOf(error: unknown, context: RefusalContext): string | undefined {
  if (error instanceof FreshetError) return error.message
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall === 'listen' || syscall === 'bind' || syscall === 'getaddrinfo'
    ? listenRefusal(code, context)
    : storeRefusal(code, context)
}

function listenRefusal(code: string | undefined, context: RefusalContext): string | undefined {
  const { host, port } = context.config
  const another = `Choose another port: ${commandWith(`--port ${(port % 65_535) + 1}`, context)}`
  if (code === 'EADDRINUSE') return `Port ${port} is in use by another program. ${another}`
  if (code === 'EACCES') return `This account is not allowed to use port ${port}. ${another}`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `This machine has no address ${host} to listen on. Correct --host, or leave it out.`
  }
  return undefined
}

function storeRefusal(code: string | undefined, { config: { data } }: RefusalContext): string | undefined {
  if (code === 'EACCES' || code === 'EPERM') {
    return `This account is not allowed to write to the folder ${data}. Change its owner, or choose another folder with --data.`
  }
  if (code === 'EROFS') return `The folder ${data} is on a read-only disk. Choose another folder with --data.`
  if (code === 'ENOTDIR' || code === 'EEXIST') return `${data} is not a folder. Choose a folder with --data.`
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return `The disk that holds ${data} is full. Make room, or choose a folder on another disk with --data.`
  }
  return undefined
}

function commandWith(flags: string, { mode, isNpmStart }: RefusalContext): string {
  return isNpmStart ? `npm start -- ${flags}` : `freshet ${mode} ${flags}`
}
