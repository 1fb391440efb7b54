/**
 * The servers and programs that tests start for themselves, and what happens if one is missing. The run installs it if it may;
 * otherwise it skips the tests that need it, and reports that. In CI no test is skipped: a missing service is a
 * failure.
 */
import { accessSync, constants } from 'node:fs'
import { cassandraJars, isCassandraInstalled } from '@freshet/engines/under-test/start-cassandra'
import { isMariadbInstalled } from '@freshet/engines/under-test/start-mariadb'
import { isPostgresInstalled } from '@freshet/engines/under-test/start-postgres'
import { isRedisInstalled } from '@freshet/lab/dist/engines/redis.js'

export interface Service {
  readonly name: string
  /** Whether the service is installed. */
  readonly probe: () => boolean
  readonly debianPackages: readonly string[]
  /** Downloads what no Debian package has. Throws if it cannot; returns at once if the machine has it. */
  readonly download?: () => Promise<unknown>
  /** The vitest projects with tests that need the service. */
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
    name: 'cassandra',
    probe: isCassandraInstalled,
    debianPackages: ['openjdk-17-jre-headless', 'maven'],
    // Maven needs minutes for it the first time, which no test could wait for.
    download: cassandraJars,
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

/** The names of the services whose tests are skipped, separated by commas. */
export const SKIP_VARIABLE = 'FRESHET_SKIP'

/** What the run may do on this machine. */
export interface Machine {
  readonly isCi: boolean
  readonly canInstall: boolean
  readonly install: (debianPackages: readonly string[]) => Promise<void>
  readonly say: (line: string) => void
}

export interface Missing {
  /** One line per service whose tests are skipped. */
  readonly leftOut: readonly string[]
  /** One line per missing service in CI; each counts as a failure. */
  readonly failed: readonly string[]
}

/** Installs the missing services that the suites need, and reports those that could not be installed. */
export async function provideServices(
  needed: readonly Service[],
  suites: readonly string[],
  machine: Machine,
): Promise<Missing> {
  const leftOut: string[] = []
  const failed: string[] = []
  const wanted = needed.filter(service => service.suites.some(suite => suites.includes(suite)))
  const missing = wanted.filter(service => !service.probe())
  // First all together: apt-get spends much of its time on starting. If one package is unavailable, apt-get installs none of
  // them, so each is then tried alone.
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
  if (!service.probe() && machine.canInstall) await install([service], machine)
  return service.probe() && (await isDownloaded(service, machine))
}

async function isDownloaded({ name, download }: Service, machine: Machine): Promise<boolean> {
  try {
    await download?.()
    return true
  } catch (error) {
    machine.say(`${name} cannot be downloaded: ${(error as Error).message}`)
    return false
  }
}

async function install(missing: readonly Service[], machine: Machine): Promise<void> {
  const packages = missing.flatMap(({ debianPackages }) => debianPackages)
  machine.say(`Missing: ${missing.map(({ name }) => name).join(', ')}. Installing ${packages.join(', ')}.`)
  await machine.install(packages)
}

function apologyFor(service: Service, suites: readonly string[]): string {
  return (
    `Skipped: the tests of ${suites.join(', ')} that need ${service.name}, which is not installed; ` +
    `to run them, install it (Debian: ${installCommand(service)}) and start again.`
  )
}

function failureOf(service: Service): string {
  return (
    `Failed: ${service.name} is not installed, and in CI no test is skipped; ` +
    `install it first (Debian: ${installCommand(service)}).`
  )
}

function installCommand(service: Service): string {
  return `sudo apt-get install ${service.debianPackages.join(' ')}`
}

/** Why tests that need this service are skipped in this run; undefined if they run. */
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
