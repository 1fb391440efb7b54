/**
 * The servers and programs that tests start for themselves, and what happens where one is not there: it is installed if
 * we may, else the tests that need it are left out, and that is said. In CI nothing is left out: what is missing is a
 * failure.
 */
import { accessSync, constants } from 'node:fs'
import { isCassandraInstalled } from '@freshet/engines/under-test/start-cassandra'
import { isMariadbInstalled } from '@freshet/engines/under-test/start-mariadb'
import { isPostgresInstalled } from '@freshet/engines/under-test/start-postgres'
import { isRedisInstalled } from '@freshet/lab/dist/engines/redis.js'

export interface Service {
  readonly name: string
  /** Whether it is installed. */
  readonly probe: () => boolean
  readonly debianPackages: readonly string[]
  /** The vitest projects with tests that need it. */
  readonly suites: readonly string[]
}

export const services: readonly Service[] = [
  {
    name: 'chromium',
    probe: () => isExecutable('/usr/bin/chromium'),
    debianPackages: ['chromium'],
    suites: ['caches', 'end-to-end'],
  },
  {
    name: 'varnish',
    probe: () => isExecutable('/usr/sbin/varnishd'),
    debianPackages: ['varnish'],
    suites: ['caches', 'end-to-end'],
  },
  {
    name: 'squid',
    probe: () => isExecutable('/usr/sbin/squid'),
    debianPackages: ['squid'],
    suites: ['caches', 'end-to-end'],
  },
  {
    name: 'nginx',
    probe: () => isExecutable('/usr/sbin/nginx'),
    debianPackages: ['nginx'],
    suites: ['caches', 'end-to-end'],
  },
  {
    name: 'postgresql',
    probe: isPostgresInstalled,
    debianPackages: ['postgresql'],
    suites: ['engines', 'shards', 'server', 'caches', 'end-to-end'],
  },
  {
    name: 'mariadb',
    probe: isMariadbInstalled,
    debianPackages: ['mariadb-server'],
    suites: ['engines', 'shards', 'server', 'caches', 'end-to-end'],
  },
  {
    // Cassandra itself is fetched by Maven, once.
    name: 'cassandra',
    probe: isCassandraInstalled,
    debianPackages: ['openjdk-17-jre-headless', 'maven'],
    suites: ['engines', 'caches', 'end-to-end'],
  },
  {
    name: 'redis',
    probe: isRedisInstalled,
    debianPackages: ['redis-server'],
    suites: ['lab', 'engines', 'cells', 'server', 'caches', 'end-to-end'],
  },
  {
    name: 'haproxy',
    probe: () => isExecutable('/usr/sbin/haproxy'),
    debianPackages: ['haproxy'],
    suites: ['caches', 'end-to-end'],
  },
  {
    name: 'curl',
    probe: () => isExecutable('/usr/bin/curl'),
    debianPackages: ['curl'],
    suites: ['end-to-end'],
  },
]

/** The names of the services whose tests are left out, with commas between them. */
export const SKIP_VARIABLE = 'FRESHET_SKIP'

/** What the machine lets us do. */
export interface Machine {
  readonly isCi: boolean
  readonly canInstall: boolean
  readonly install: (debianPackages: readonly string[]) => Promise<void>
  readonly say: (line: string) => void
}

export interface Missing {
  /** Their tests are to be skipped. */
  readonly leftOut: readonly string[]
  /** Each counts as a failure. */
  readonly failed: readonly string[]
}

/** Installs what the suites need and is missing, and says what could not be had. */
export async function provideServices(
  needed: readonly Service[],
  suites: readonly string[],
  machine: Machine,
): Promise<Missing> {
  const leftOut: string[] = []
  const failed: string[] = []
  const wanted = needed.filter(service => service.suites.some(suite => suites.includes(suite)))
  const missing = wanted.filter(service => !service.probe())
  // Together first: apt-get spends much of its time on starting. If one package cannot be had, apt-get installs none of them, so
  // each is tried alone afterwards.
  if (machine.canInstall && missing.length > 1) await install(missing, machine)
  for (const service of wanted) {
    if (await isProvided(service, machine)) continue
    const list = machine.isCi ? failed : leftOut
    list.push(service.name)
    const affected = service.suites.filter(suite => suites.includes(suite))
    machine.say(machine.isCi ? failureOf(service) : apologyFor(service, affected))
  }
  return { leftOut, failed }
}

async function isProvided(service: Service, machine: Machine): Promise<boolean> {
  if (service.probe()) return true
  if (!machine.canInstall) return false
  await install([service], machine)
  return service.probe()
}

async function install(missing: readonly Service[], machine: Machine): Promise<void> {
  const packages = missing.flatMap(({ debianPackages }) => debianPackages)
  machine.say(`Missing: ${missing.map(({ name }) => name).join(', ')}. Installing ${packages.join(', ')}.`)
  await machine.install(packages)
}

function apologyFor(service: Service, suites: readonly string[]): string {
  return (
    `Left out: the tests of ${suites.join(', ')} that need ${service.name}, which is not installed; ` +
    `to run them, install it (Debian: ${installCommand(service)}) and start again.`
  )
}

function failureOf(service: Service): string {
  return (
    `Failed: ${service.name} is not installed, and in CI no test is left out; ` +
    `install it first (Debian: ${installCommand(service)}).`
  )
}

function installCommand(service: Service): string {
  return `sudo apt-get install ${service.debianPackages.join(' ')}`
}

/** Why tests that need this service are skipped in this run; undefined if they are not. */
export function reasonToSkip(service: string, environment: NodeJS.ProcessEnv = process.env): string | undefined {
  const isLeftOut = (environment[SKIP_VARIABLE] ?? '').split(',').includes(service)
  return isLeftOut ? `${service} is not installed (${SKIP_VARIABLE}=${environment[SKIP_VARIABLE]})` : undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
