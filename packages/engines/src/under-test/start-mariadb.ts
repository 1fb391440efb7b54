/**
 * A real MariaDB with new tables in a temporary folder, on a free port of this machine, with the server's own defaults, so
 * that what it acknowledges is on disk. It is removed, with everything it wrote, when it is stopped, and also when the
 * process that started it ends without stopping it.
 *
 * MariaDB does not run as root: root starts it as the user that its package has created.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createConnection } from 'mariadb'
import { freePort } from './free-port.js'

export interface MariadbOptions {
  /** By their names in my.cnf, where its own defaults will not do. */
  readonly settings?: Readonly<Record<string, string>>
  /** Makes it a replica of this one from the beginning, by GTID: it can be read. The primary needs a binary log. */
  readonly replicaOf?: RunningMariadb
}

export interface RunningMariadb {
  readonly port: number
  /** `mariadb://...`, for an empty database. Without a password: it listens on 127.0.0.1 alone. */
  readonly url: string
  /** Everything that it has on disk. */
  readonly folder: string
  /** Its data, in that folder. */
  readonly data: string
  readonly pid: number
  /** Kills it, and leaves its files. */
  kill(): Promise<void>
  /** After `kill`: on the same data and port. */
  startAgain(): Promise<void>
  /** For a replica whose primary is gone: applies everything that it has received, and becomes a primary. */
  promote(): Promise<void>
  /** Ends it for good. */
  stop(): Promise<void>
}

interface SlaveStatus {
  readonly Read_Master_Log_Pos: bigint
  readonly Exec_Master_Log_Pos: bigint
  readonly Last_SQL_Error: string
}

const SERVERS = ['/usr/sbin/mariadbd', '/usr/local/bin/mariadbd']
const INSTALLERS = ['/usr/bin/mariadb-install-db', '/usr/local/bin/mariadb-install-db']
const DATABASE = 'freshet'
const REPLICA = { log_bin: 'binary-log', log_slave_updates: 'ON', read_only: 'ON' }
const START_MS_MAX = 60_000
const POLL_MS = 50
const ATTEMPTS_MAX = 5

const running = new Set<Instance>()
process.once('exit', () => {
  for (const instance of running) instance.end()
})

export function isMariadbInstalled(): boolean {
  return [SERVERS, INSTALLERS].every(programs => programs.some(each => existsSync(each)))
}

export async function startMariadb({ settings = {}, replicaOf }: MariadbOptions = {}): Promise<RunningMariadb> {
  if (!isMariadbInstalled()) throw new Error('MariaDB is not installed: sudo apt-get install mariadb-server')
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const instance = new Instance(port, replicaOf ? { ...REPLICA, server_id: `${port}`, ...settings } : settings)
    try {
      await instance.create(replicaOf)
      return instance
    } catch (error) {
      await instance.stop()
      // Another process may have taken the port in the meantime.
      if (attempt === ATTEMPTS_MAX || !/address already in use/i.test(String(error))) throw error
    }
  }
}

/** For `afterAll`: ends whatever a failed test has left running. */
export async function endMariadb(): Promise<void> {
  await Promise.all([...running].map(instance => instance.stop()))
}

class Instance implements RunningMariadb {
  readonly port: number
  readonly folder: string = mkdtempSync(join(tmpdir(), 'freshet-mariadb-'))
  readonly #settings: readonly string[]
  readonly #account = accountToUse()
  #child: ChildProcess | undefined
  #output = ''

  constructor(port: number, settings: Readonly<Record<string, string>>) {
    this.port = port
    this.#settings = Object.entries({ max_connections: '500', ...settings }).map(
      ([name, value]) => `--${name}=${value}`,
    )
    if (this.#account) chownSync(this.folder, this.#account.uid, this.#account.gid)
    running.add(this)
  }

  get url(): string {
    return `mariadb://root@127.0.0.1:${this.port}/${DATABASE}`
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  get pid(): number {
    return this.#child!.pid!
  }

  async create(primary?: RunningMariadb): Promise<void> {
    const installing = this.#spawn(INSTALLERS, [
      '--no-defaults',
      `--datadir=${this.data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ])
    const [code] = (await once(installing, 'close')) as [number | null]
    if (code !== 0) throw new Error(`mariadb-install-db ended with ${code}: ${this.#output}`)
    await this.startAgain()
    await this.#tell(primary ? follow(primary.port) : [`CREATE DATABASE ${DATABASE}`])
  }

  async promote(): Promise<void> {
    await this.#tell(['STOP SLAVE IO_THREAD'])
    const deadlineMs = performance.now() + START_MS_MAX
    for (;;) {
      const [[status]] = (await this.#tell(['SHOW SLAVE STATUS'])) as [[SlaveStatus]]
      const { Read_Master_Log_Pos: heard, Exec_Master_Log_Pos: applied, Last_SQL_Error: error } = status
      if (heard === applied) break
      if (error || performance.now() > deadlineMs) throw new Error(`The replica has not applied all: ${error}`)
      await delay(POLL_MS)
    }
    await this.#tell(['STOP SLAVE', 'RESET SLAVE ALL', 'SET GLOBAL read_only = OFF'])
  }

  async startAgain(): Promise<void> {
    const child = this.#spawn(SERVERS, [
      '--no-defaults',
      `--datadir=${this.data}`,
      `--socket=${join(this.folder, 'socket')}`,
      `--pid-file=${join(this.folder, 'pid')}`,
      `--port=${this.port}`,
      '--bind-address=127.0.0.1',
      ...this.#settings,
    ])
    this.#child = child
    const deadlineMs = performance.now() + START_MS_MAX
    while (!(await answers(this.port))) {
      const what = hasEnded(child) ? 'ended at its start' : `did not answer within ${START_MS_MAX} ms`
      if (hasEnded(child) || performance.now() > deadlineMs) throw new Error(`MariaDB ${what}: ${this.#output}`)
      await delay(POLL_MS)
    }
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  /** Kills it, because its data is no longer needed. */
  async stop(): Promise<void> {
    await this.kill()
    this.end()
  }

  /** Synchronous, because the process may be about to exit. */
  end(): void {
    this.#child?.kill('SIGKILL')
    running.delete(this)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #tell(statements: readonly string[]): Promise<unknown[]> {
    const connection = await createConnection({ host: '127.0.0.1', port: this.port, user: 'root' })
    const answers: unknown[] = []
    for (const statement of statements) answers.push(await connection.query(statement))
    await connection.end()
    return answers
  }

  #spawn(programs: readonly string[], args: readonly string[]): ChildProcess {
    const program = programs.find(each => existsSync(each))!
    // Its temporary tables are named by its process id, and a server in another container may have the same id.
    const env = { ...process.env, TMPDIR: this.folder }
    const child = spawn(program, args, { cwd: this.folder, ...this.#account, env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-4000)
      })
    }
    return child
  }
}

function follow(port: number): string[] {
  const where = `MASTER_HOST = '127.0.0.1', MASTER_PORT = ${port}, MASTER_USER = 'root', MASTER_USE_GTID = slave_pos`
  return [`CHANGE MASTER TO ${where}, MASTER_CONNECT_RETRY = 1`, 'START SLAVE']
}

/** Undefined: the present user will do. */
function accountToUse(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const found = ['mysql', 'nobody'].map(name => lines.find(line => line.startsWith(`${name}:`))).find(Boolean)
  const [, , uid, gid] = found?.split(':') ?? []
  if (uid === undefined || gid === undefined) throw new Error('There is no user to run MariaDB as: it refuses root.')
  return { uid: Number(uid), gid: Number(gid) }
}

async function answers(port: number): Promise<boolean> {
  try {
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root' })
    await connection.end()
    return true
  } catch {
    // Not yet: the caller retries until its deadline.
    return false
  }
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}
