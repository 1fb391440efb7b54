/**
 * A real Cassandra of one node or several, on this machine's addresses 127.0.0.1, .2 and so on, all at the same free ports,
 * in a temporary folder. It is removed, with everything it wrote, when it is stopped, and also when the process that started
 * it ends without stopping it.
 *
 * By default, what a node acknowledges is on its disk (`commitlog_sync: batch`; Cassandra's own default flushes every ten
 * seconds). Tokens are fixed and no data is moved when a node starts, so a start takes seconds.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import cassandra from 'cassandra-driver'
import { createSteadyClient } from '../cassandra/steady-client.js'
import { cassandraJars, javaProgram } from './cassandra-jars.js'
import { freePort } from './free-port.js'

export { createSteadyClient } from '../cassandra/steady-client.js'
export { cassandraJars, isCassandraInstalled } from './cassandra-jars.js'

export interface CassandraOptions {
  /** One by default. */
  readonly nodes?: number
  /** By their names in cassandra.yaml. */
  readonly settings?: Readonly<Record<string, string>>
  /**
   * Nodes direct clients to 127.0.1.1, .2 and so on, at the same port: a test that places lines between nodes and clients
   * listens there.
   */
  readonly isBehindLines?: boolean
  /** It accepts nodetool, on this machine; only with one node. */
  readonly hasNodetool?: boolean
}

export interface RunningCassandra {
  readonly port: number
  readonly hosts: readonly string[]
  /** `cassandra://...`, without a keyspace. */
  readonly url: string
  /** Everything that its nodes have on disk. */
  readonly folder: string
  readonly pids: readonly number[]
  /** Kills a node, by default the first, and leaves its files. */
  kill(node?: number): Promise<void>
  /** After `kill`: on the same data and ports. */
  startAgain(node?: number): Promise<void>
  /** Runs Cassandra's own command, and throws if it fails. */
  nodetool(...args: string[]): Promise<void>
  /** Ends it for good. */
  stop(): Promise<void>
}

const DATA_CENTRE = 'datacenter1'
const HEAP = '400m'
const START_MS_MAX = 110_000
/** In each poll the driver reads everything that a node knows of the others, while they start. */
const POLL_MS = 250
const ATTEMPTS_MAX = 3

const running = new Set<Cluster>()
process.once('exit', () => {
  for (const cluster of running) cluster.end()
})

export async function startCassandra(options: CassandraOptions = {}): Promise<RunningCassandra> {
  const jars = await cassandraJars()
  const hosts = Array.from({ length: options.nodes ?? 1 }, (_, i) => `127.0.0.${i + 1}`)
  for (let attempt = 1; ; attempt++) {
    const cluster = new Cluster(jars, hosts, await freePort(hosts), await freePort(hosts), options)
    try {
      await cluster.start()
      return cluster
    } catch (error) {
      await cluster.stop()
      // Another process may have taken a port in the meantime.
      if (attempt === ATTEMPTS_MAX || !/address already in use|BindException/i.test(String(error))) throw error
    }
  }
}

/** For `afterAll`: ends whatever a failed test has left running. */
export async function endCassandra(): Promise<void> {
  await Promise.all([...running].map(cluster => cluster.stop()))
}

class Cluster implements RunningCassandra {
  readonly port: number
  readonly hosts: readonly string[]
  readonly folder: string = mkdtempSync(join(tmpdir(), 'freshet-cassandra-'))
  readonly #jars: string
  readonly #storagePort: number
  #jmxPort: number | undefined
  readonly #options: CassandraOptions
  readonly #children: ChildProcess[] = []
  #output = ''

  constructor(jars: string, hosts: readonly string[], port: number, storagePort: number, options: CassandraOptions) {
    this.#jars = jars
    this.hosts = hosts
    this.port = port
    this.#storagePort = storagePort
    this.#options = options
    running.add(this)
  }

  get url(): string {
    return `cassandra://${this.hosts.join(',')}:${this.port}`
  }

  get pids(): readonly number[] {
    return this.#children.map(({ pid }) => pid!)
  }

  /** The first node is the seed of all others, so it starts first. */
  async start(): Promise<void> {
    if (this.#options.hasNodetool) this.#jmxPort = await freePort(['127.0.0.1'])
    for (const node of this.hosts.keys()) this.#prepare(node)
    this.#children[0] = this.#launch(0)
    await this.#answers(0)
    for (const node of this.hosts.keys()) this.#children[node] ??= this.#launch(node)
    await Promise.all(Array.from(this.hosts.keys(), node => this.#answers(node)))
    await this.#knowEachOther()
  }

  async startAgain(node = 0): Promise<void> {
    this.#children[node] = this.#launch(node)
    await this.#answers(node)
    await this.#knowEachOther()
  }

  async kill(node = 0): Promise<void> {
    const child = this.#children[node]
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async nodetool(...args: string[]): Promise<void> {
    const opened = MODULES.flatMap(([option, modules]) => modules.flatMap(each => [option, `${each}=ALL-UNNAMED`]))
    const properties = [`-Dcassandra.config=file://${this.#folderOf(0)}/cassandra.yaml`, `-Duser.home=${this.folder}`]
    const command = ['org.apache.cassandra.tools.NodeTool', '-h', '127.0.0.1', '-p', `${this.#jmxPort}`, ...args]
    await promisify(execFile)(javaProgram(), [...opened, ...properties, '-cp', join(this.#jars, '*'), ...command])
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.hosts.keys(), node => this.kill(node)))
    this.end()
  }

  /** Synchronous, because the process may be about to exit. */
  end(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    running.delete(this)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  #folderOf(node: number): string {
    return join(this.folder, `node-${node + 1}`)
  }

  #prepare(node: number): void {
    const folder = this.#folderOf(node)
    mkdirSync(folder)
    writeFileSync(join(folder, 'logback.xml'), LOGBACK)
    const host = this.hosts[node]!
    const token = BigInt.asIntN(64, (2n ** 64n * BigInt(node)) / BigInt(this.hosts.length) - 2n ** 63n)
    const outside = this.#options.isBehindLines ? { broadcast_rpc_address: host.replace('127.0.0.', '127.0.1.') } : {}
    const settings = {
      cluster_name: 'freshet',
      num_tokens: '1',
      initial_token: `'${token}'`,
      auto_bootstrap: 'false',
      partitioner: 'org.apache.cassandra.dht.Murmur3Partitioner',
      endpoint_snitch: 'SimpleSnitch',
      listen_address: host,
      rpc_address: host,
      ...outside,
      storage_port: `${this.#storagePort}`,
      native_transport_port: `${this.port}`,
      seed_provider: `[{ class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{ seeds: '${this.hosts[0]}' }] }]`,
      commitlog_sync: 'batch',
      memtable_heap_space: '64MiB',
      memtable_offheap_space: '64MiB',
      file_cache_size: '32MiB',
      networking_cache_size: '16MiB',
      ...this.#options.settings,
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`)
    writeFileSync(join(folder, 'cassandra.yaml'), lines.join(''))
  }

  #launch(node: number): ChildProcess {
    const folder = this.#folderOf(node)
    const properties = {
      'cassandra.config': `file://${folder}/cassandra.yaml`,
      'cassandra.storagedir': folder,
      'logback.configurationFile': `file://${folder}/logback.xml`,
      'cassandra.ring_delay_ms': '10000',
      'cassandra.skip_wait_for_gossip_to_settle': '0',
      'cassandra.superuser_setup_delay_ms': '-1',
      'jdk.attach.allowAttachSelf': 'true',
      'io.netty.tryReflectionSetAccessible': 'true',
      'java.io.tmpdir': folder,
      ...(this.#jmxPort === undefined ? {} : { 'cassandra.jmx.local.port': `${this.#jmxPort}` }),
    }
    const args = [
      `-Xms${HEAP}`,
      `-Xmx${HEAP}`,
      '-XX:MaxDirectMemorySize=128m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-ea',
      ...MODULES.flatMap(([option, modules]) => modules.flatMap(each => [option, `${each}=ALL-UNNAMED`])),
      ...Object.entries(properties).map(([name, value]) => `-D${name}=${value}`),
      '-cp',
      join(this.#jars, '*'),
      'org.apache.cassandra.service.CassandraDaemon',
    ]
    const child = spawn(javaProgram(), args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-4000)
      })
    }
    return child
  }

  /** Waits until the node answers. */
  async #answers(node: number): Promise<void> {
    await this.#until(node, 'answers', client => client.execute('SELECT key FROM system.local'))
  }

  /**
   * Waits until every node can reach all others, unless one is down: until then a node would refuse requests that need
   * several.
   */
  async #knowEachOther(): Promise<void> {
    if (this.hosts.length === 1 || this.#children.some(hasEnded)) return
    await Promise.all(Array.from(this.hosts.keys(), node => this.#knowsAll(node)))
  }

  /** Waits until the node can reach all others. */
  async #knowsAll(node: number): Promise<void> {
    const options = { consistency: cassandra.types.consistencies.all }
    const query = 'SELECT * FROM system_distributed.view_build_status LIMIT 1'
    await this.#until(node, 'knows all others', client => client.execute(query, [], options))
  }

  async #until(node: number, what: string, ask: (client: cassandra.Client) => Promise<unknown>): Promise<void> {
    const child = this.#children[node]!
    const deadlineMs = performance.now() + START_MS_MAX
    while (!(await succeeds(this.hosts[node]!, this.port, ask))) {
      const why = hasEnded(child) ? 'it has ended' : `not within ${START_MS_MAX} ms`
      if (hasEnded(child) || performance.now() > deadlineMs) {
        throw new Error(`Waited until Cassandra's node ${node + 1} ${what}, but ${why}: ${this.#output}`)
      }
      await delay(POLL_MS)
    }
  }
}

/** Connects to this node alone. */
async function succeeds(
  host: string,
  port: number,
  ask: (client: cassandra.Client) => Promise<unknown>,
): Promise<boolean> {
  const client = createSteadyClient({
    contactPoints: [host],
    localDataCenter: DATA_CENTRE,
    protocolOptions: { port },
    policies: {
      loadBalancing: new cassandra.policies.loadBalancing.AllowListPolicy(
        new cassandra.policies.loadBalancing.RoundRobinPolicy(),
        [`${host}:${port}`],
      ),
    },
    socketOptions: { connectTimeout: 2_000, readTimeout: 5_000 },
  })
  try {
    await client.connect()
    await ask(client)
    return true
  } catch {
    // Not yet: the caller retries until its deadline.
    return false
  } finally {
    await client.shutdown().catch(() => {})
  }
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}

/** The modules that Cassandra's jvm17-server.options opens. */
const MODULES = [
  [
    '--add-exports',
    [
      'java.base/jdk.internal.misc',
      'java.management.rmi/com.sun.jmx.remote.internal.rmi',
      'java.rmi/sun.rmi.registry',
      'java.rmi/sun.rmi.server',
      'java.sql/java.sql',
      'java.base/java.lang.ref',
      'jdk.unsupported/sun.misc',
      'jdk.attach/sun.tools.attach',
    ],
  ],
  [
    '--add-opens',
    [
      'java.base/java.lang.module',
      'java.base/jdk.internal.loader',
      'java.base/jdk.internal.ref',
      'java.base/jdk.internal.reflect',
      'java.base/jdk.internal.math',
      'java.base/jdk.internal.module',
      'java.base/jdk.internal.util.jar',
      'jdk.management/com.sun.management.internal',
      'java.base/sun.nio.ch',
      'java.base/java.io',
      'java.base/java.lang.reflect',
      'java.base/java.lang',
      'java.base/java.util',
      'java.base/java.nio',
    ],
  ],
] as const

const LOGBACK = `<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT" /></root>
</configuration>
`
