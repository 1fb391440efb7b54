/** Squid: in front of a server, with the shipped configuration; or in front of readers, as in companies. */
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type RunningCache, startCache } from './cache-process.js'
import { originOf, SECRET, SECRET_SHIPPED, shippedConfiguration } from './shipped-configuration.js'

export interface SquidOptions {
  /** The server, or the cache behind this one. Undefined for a forward proxy. */
  readonly origin: string | undefined
  /** Whether requests that wait for the same URL share one fetch. */
  readonly isCollapsing?: boolean
  /** Lines before the others: if several match, Squid takes the first. */
  readonly rules?: string
}

/** The user that Squid switches to if it starts as root. */
const USER = 'proxy'
const SHARED_MEMORY = '/dev/shm'

export function startSquid({ origin, isCollapsing = false, rules: first = '' }: SquidOptions): Promise<RunningCache> {
  return startCache({
    kind: 'squid',
    secret: SECRET,
    // A graceful stop would take long, and there is nothing to lose.
    stopSignal: 'SIGKILL',
    prepare: (folder, port) => {
      const work = join(folder, 'work')
      mkdirSync(work)
      const user = process.getuid?.() === 0 ? idsOf(USER) : undefined
      if (user) chownSync(work, user.uid, user.gid)
      const rules = origin === undefined ? forward(port) : accelerator(origin, port)
      const collapsed = rules.replace('collapsed_forwarding off', `collapsed_forwarding ${isCollapsing ? 'on' : 'off'}`)
      writeFileSync(join(folder, 'squid.conf'), `${first}\n${collapsed}\n${surroundings(work)}`)
      return { program: 'squid', args: ['-N', '-n', serviceName(folder), '-f', join(folder, 'squid.conf')] }
    },
    cleanUp: removeSharedMemory,
  })
}

function accelerator(origin: string, port: number): string {
  const { host, port: originPort } = originOf(origin)
  return shippedConfiguration('squid/freshet.conf', {
    'http_port 127.0.0.1:8080': `http_port 127.0.0.1:${port}`,
    'cache_peer 127.0.0.1 parent 7700': `cache_peer ${host} parent ${originPort}`,
    [SECRET_SHIPPED]: SECRET,
  })
}

/** As distributed, except for purges. */
function forward(port: number): string {
  return [
    `http_port 127.0.0.1:${port}`,
    'acl purge method PURGE',
    `acl purge_secret req_header Freshet-Purge-Secret ^${SECRET}$`,
    'http_access allow purge purge_secret',
    'http_access deny purge',
    'http_access allow localhost',
    'refresh_pattern . 0 20% 4320',
    'collapsed_forwarding off',
    'pinger_enable off',
    'shutdown_lifetime 1 second',
  ].join('\n')
}

/** The part that depends on the machine: where files go. */
function surroundings(work: string): string {
  return [
    `cache_effective_user ${USER}`,
    `pid_filename ${work}/squid.pid`,
    `cache_log ${work}/cache.log`,
    'access_log none',
    `coredump_dir ${work}`,
    'visible_hostname freshet-test',
    // Squid would ask a name server at its start, which a test must not need.
    'dns_nameservers 127.0.0.1',
    '',
  ].join('\n')
}

/** Letters and digits only; also the prefix of its files in shared memory. */
function serviceName(folder: string): string {
  return basename(folder).replace(/[^A-Za-z0-9]/g, '')
}

function removeSharedMemory(folder: string): void {
  for (const name of readdirSync(SHARED_MEMORY)) {
    if (name.startsWith(`${serviceName(folder)}-`)) rmSync(join(SHARED_MEMORY, name), { force: true })
  }
}

function idsOf(user: string): { readonly uid: number; readonly gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(each => each.startsWith(`${user}:`))
  if (line === undefined) throw new Error(`Squid needs the user ${user}, which does not exist. Install squid.`)
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}
