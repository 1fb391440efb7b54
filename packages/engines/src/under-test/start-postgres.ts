/**
 * A real PostgreSQL with a new cluster in a temporary folder, on a free port of this machine, with the server's own defaults,
 * so that what it acknowledges is on disk. It is removed, with everything it wrote, when it is stopped, and also when the
 * process that started it ends without stopping it.
 *
 * PostgreSQL does not run as root: root starts it as the user that its package has created.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.js'

export interface PostgresOptions {
  /** By their names in postgresql.conf, where its own defaults will not do. */
  readonly settings?: Readonly<Record<string, string>>
  /** Makes it a standby of this one: it can be read, but not written to. */
  readonly standbyOf?: RunningPostgres
}

export interface RunningPostgres {
  /** Without a password: it listens on 127.0.0.1 alone. */
  readonly user: string
  readonly database: string
  readonly port: number
  /** `postgres://...`, for direct connections. */
  readonly url: string
  /** Everything that it has on disk. */
  readonly folder: string
  /** Its data, in that folder. */
  readonly data: string
  /** Kills it, and leaves its files. */
  kill(): Promise<void>
  /** Shuts it down in good order, without waiting for its clients, and leaves its files. */
  shutDown(): Promise<void>
  /** After `kill` or `shutDown`: on the same data and port. */
  startAgain(): Promise<void>
  /** Ends it for good. */
  stop(): Promise<void>
}

interface Account {
  readonly uid: number
  readonly gid: number
}

interface Instance {
  readonly folder: string
  /** Starts the server on its data. */
  readonly launch: () => ChildProcess
  child: ChildProcess
  output: string
}

/** Where Debian installs it, a folder for each version; then where it may have been installed by hand. */
const VERSIONS = '/usr/lib/postgresql'
const PROGRAMS_BY_HAND = ['/usr/local/pgsql/bin', '/usr/local/bin', '/usr/bin']
const USER = 'freshet'
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  // Two base backups at the same time each begin a new segment, and need the one before.
  wal_keep_size: '128MB',
}
const START_MS_MAX = 60_000
const STOP_MS_MAX = 10_000
const POLL_MS = 50
const ATTEMPTS_MAX = 5

const running = new Set<Instance>()
process.once('exit', () => {
  for (const instance of running) end(instance)
})

export function isPostgresInstalled(): boolean {
  return findPrograms() !== undefined
}

export async function startPostgres({ settings = {}, standbyOf }: PostgresOptions = {}): Promise<RunningPostgres> {
  const programs = findPrograms()
  if (programs === undefined) throw new Error('PostgreSQL is not installed: sudo apt-get install postgresql')
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    try {
      const instance = await start(programs, port, settings, standbyOf)
      const url = `postgres://${USER}@127.0.0.1:${port}/postgres`
      return {
        user: USER,
        database: 'postgres',
        port,
        url,
        folder: instance.folder,
        data: dataOf(instance.folder),
        kill: () => kill(instance),
        shutDown: () => shutDown(instance),
        startAgain: () => startAgain(instance, port),
        stop: () => stop(instance),
      }
    } catch (error) {
      // Another process may have taken the port in the meantime.
      if (attempt === ATTEMPTS_MAX || !/address already in use/i.test(String(error))) throw error
    }
  }
}

/** For `afterAll`: ends whatever a failed test has left running. */
export async function endPostgres(): Promise<void> {
  await Promise.all([...running].map(stop))
}

function findPrograms(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map(version => join(VERSIONS, version, 'bin')), ...PROGRAMS_BY_HAND]
  return folders.find(folder => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')))
}

async function start(
  programs: string,
  port: number,
  more: Readonly<Record<string, string>>,
  primary: RunningPostgres | undefined,
): Promise<Instance> {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-postgres-'))
  const account = accountToUse()
  if (account) chownSync(folder, account.uid, account.gid)
  const data = dataOf(folder)
  const options = { cwd: folder, ...account }
  try {
    if (primary) await run(join(programs, 'pg_basebackup'), ['-D', data, ...copyOf(primary)], options)
    else
      await run(join(programs, 'initdb'), ['-D', data, '--no-sync', '-U', USER, '-A', 'trust', '-E', 'UTF8'], options)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  const settings = Object.entries({ ...SETTINGS, ...more }).map(([name, value]) => `${name}=${value}`)
  const args = ['-D', data, '-p', `${port}`, ...settings.flatMap(each => ['-c', each])]
  const launch = () => spawn(join(programs, 'postgres'), args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  const instance: Instance = { folder, launch, child: launch(), output: '' }
  running.add(instance)
  listen(instance)
  try {
    await untilReady(instance, port)
    return instance
  } catch (error) {
    await stop(instance)
    throw error
  }
}

function dataOf(folder: string): string {
  return join(folder, 'data')
}

function listen(instance: Instance): void {
  instance.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    instance.output = (instance.output + text).slice(-4000)
  })
}

/**
 * Its child processes notice that it is gone, and end as well. They hold its output open: once that is closed, no process
 * writes to its data.
 */
async function kill({ child }: Instance): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
}

async function startAgain(instance: Instance, port: number): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX
  for (;;) {
    instance.child = instance.launch()
    listen(instance)
    try {
      return await untilReady(instance, port)
    } catch (error) {
      // Its old child processes may not have ended yet, and until then it refuses to start.
      if (!hasEnded(instance.child) || performance.now() > deadlineMs) throw error
      await delay(POLL_MS)
    }
  }
}

/** Copies all its data, with the settings to follow it. */
function copyOf({ port }: RunningPostgres): string[] {
  return ['-h', '127.0.0.1', '-p', `${port}`, '-U', USER, '--checkpoint=fast', '--write-recovery-conf']
}

async function run(program: string, args: readonly string[], options: object): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${output.slice(-2000)}`)
}

/** Undefined: the present user will do. */
function accountToUse(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const found = ['postgres', 'nobody'].map(name => lines.find(line => line.startsWith(`${name}:`))).find(Boolean)
  const [, , uid, gid] = found?.split(':') ?? []
  if (uid === undefined || gid === undefined) throw new Error('There is no user to run PostgreSQL as: it refuses root.')
  return { uid: Number(uid), gid: Number(gid) }
}

async function untilReady(instance: Instance, port: number): Promise<void> {
  const { child } = instance
  const deadlineMs = performance.now() + START_MS_MAX
  while (!(await answers(port))) {
    const what = hasEnded(child) ? 'ended at its start' : `did not answer within ${START_MS_MAX} ms`
    if (hasEnded(child) || performance.now() > deadlineMs) throw new Error(`PostgreSQL ${what}: ${instance.output}`)
    await delay(POLL_MS)
  }
}

async function answers(port: number): Promise<boolean> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: USER, database: 'postgres' })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    // Not yet: `untilReady` retries until its deadline.
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

async function stop(instance: Instance): Promise<void> {
  await Promise.race([shutDown(instance), delay(STOP_MS_MAX, undefined, { ref: false })])
  end(instance)
}

/** SIGINT is the "fast" shutdown: it does not wait for clients, and ends the child processes. */
async function shutDown({ child }: Instance): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGINT')
  await ended
}

/**
 * Synchronous, because the process may be about to exit. SIGQUIT ends the child processes too; SIGKILL would leave them for a
 * while.
 */
function end(instance: Instance): void {
  if (!hasEnded(instance.child)) instance.child.kill('SIGQUIT')
  running.delete(instance)
  rmSync(instance.folder, { recursive: true, force: true, maxRetries: 5 })
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}
