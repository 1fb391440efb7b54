/** Why the server cannot start or go on, in one line with the code and what to do; undefined for unexpected errors. */
import { FreshetError, type FreshetErrorCode } from '@freshet/protocol'
import type { Config } from '../config/options.js'

export interface RefusalContext {
  readonly config: Pick<Config, 'data' | 'host' | 'port'>
  /** What the user typed to start it, so that options can follow. */
  readonly command: string
  /** The address of a Freshet server that answers at this host and port. */
  readonly neighbour?: string | undefined
}

/** Whether another server may be the reason, so that it is worth asking for one. */
export function isOfNeighbour(error: unknown): boolean {
  return ['STORE_LOCKED', 'EADDRINUSE'].includes((error as NodeJS.ErrnoException).code ?? '')
}

export function refusalOf(error: unknown, context: RefusalContext): string | undefined {
  if (error instanceof FreshetError) return coded(error.code, error.message + adviceFor(error, context))
  const { code, syscall } = error as NodeJS.ErrnoException
  return syscall === 'listen' || syscall === 'bind' || syscall === 'getaddrinfo'
    ? listenRefusal(code, context)
    : storeRefusal(code, context)
}

function listenRefusal(code: string | undefined, context: RefusalContext): string | undefined {
  const { host, port } = context.config
  const next = `${context.command} --port ${nextPort(port)}`
  const another = `Choose another port: ${next}`
  if (code === 'EADDRINUSE') {
    if (context.neighbour === undefined) return coded('PORT_IN_USE', `Another program uses port ${port}. ${another}`)
    const running = `A Freshet server already runs at ${context.neighbour}. Use it, or stop it with Ctrl-C in its terminal.`
    return coded('PORT_IN_USE', `${running} To start another one beside it: ${next}`)
  }
  if (code === 'EACCES') return `This account is not allowed to use port ${port}. ${another}`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return `This machine has no address ${host} to listen on. Correct --host, or leave it out.`
  }
  return undefined
}

/** What the store cannot know: how the server was started, and which other server there is. */
function adviceFor({ code }: FreshetError, context: RefusalContext): string {
  if (code === 'STORE_UNAVAILABLE') return ' If the address is wrong, correct --store.'
  if (code !== 'STORE_LOCKED' || context.neighbour === undefined) return ''
  // Another folder alone would not help: the port is taken, too.
  const port = nextPort(context.config.port)
  const another = `${context.command} --port ${port} --data .freshet-${port}`
  return ` A Freshet server runs at ${context.neighbour}: you can use that one. To start another one beside it: ${another}`
}

function nextPort(port: number): number {
  return (port % 65_535) + 1
}

function coded(code: FreshetErrorCode, message: string): string {
  return `${code}: ${message}`
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
