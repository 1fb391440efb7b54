/** A port of this machine's own addresses where no process listens, and that stays free while a process is restarted. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PORT_MIN = 20_000
const PORT_MAX = 32_000
/** A file for each given port, with the id of its process: until a process listens there, the port could be given again. */
const GIVEN = join(tmpdir(), 'freshet-ports')
const own: string[] = []
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true })
})

/**
 * Not one of the ports that the system gives to outgoing connections: such a connection could take the port while its server
 * is being restarted, and a reader that retries could even be connected to itself.
 */
export async function freePort(hosts: readonly string[] = ['127.0.0.1']): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN))
    const isFree = await Promise.all(hosts.map(host => isFreeAt(host, port)))
    if (!isFree.includes(false) && reserve(port)) return port
  }
}

function reserve(port: number): boolean {
  const file = join(GIVEN, `${port}`)
  mkdirSync(GIVEN, { recursive: true })
  try {
    writeFileSync(file, `${process.pid}`, { flag: 'wx' })
    own.push(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    forgetEnded(file)
    return false
  }
}

/** Frees the port of a process that was killed. */
function forgetEnded(file: string): void {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(file, { force: true })
  }
}

async function isFreeAt(host: string, port: number): Promise<boolean> {
  const server = createServer()
  const isFree = await new Promise<boolean>(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => resolve(true))
  })
  if (isFree) await new Promise(resolve => server.close(resolve))
  return isFree
}
