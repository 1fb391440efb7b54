/** Runs a server from its start to its end, and returns the exit code. */
import { inspect } from 'node:util'
import { NONE } from '../config/file-kinds.js'
import type { Mode } from '../config/option.js'
import { withoutPassword } from '../config/store-kind.js'
import { isEmbedded } from '../places/open-store.js'
import { watchStopSignals } from '../terminal/stop-signals.js'
import { findNeighbour } from './find-neighbour.js'
import { isOfNeighbour, refusalOf } from './refusal.js'
import type { RunningServer, ServeSetup } from './serve-setup.js'

const EXIT_STOPPED = 0
const EXIT_FAILED = 1
const EXIT_FORCED = 130

export async function runServer(setup: ServeSetup): Promise<number> {
  let running: RunningServer | undefined
  const signals = watchStopSignals(() => {
    running?.force()
    process.exit(EXIT_FORCED)
  })
  try {
    // A server that is stopped while it starts has acknowledged nothing yet.
    const started = await Promise.race([start(setup), signals.asked])
    if (typeof started === 'string') process.exit(EXIT_STOPPED)
    running = started
    await announce(setup, running)
    const signal = await Promise.race([signals.asked, running.failed])
    setup.log.write('info', 'asked to stop', { signal })
    await running.stop()
    return EXIT_STOPPED
  } catch (error) {
    running?.force()
    await reportFailure(error, setup)
    return EXIT_FAILED
  }
}

async function start(setup: ServeSetup): Promise<RunningServer> {
  if (setup.config.shards) await (await import('../shards/open-database.js')).confirmPlaces(setup.config.shards)
  if (setup.config.workers === 1) return (await import('./single-process.js')).startSingleProcess(setup)
  return (await import('./primary.js')).startPrimary(setup)
}

async function announce({ config, log }: ServeSetup, { port, isEmpty }: RunningServer): Promise<void> {
  const { host, workers, durability } = config
  const data = isEmbedded(config) ? config.data : withoutPassword(config.store)
  const url = urlFor(host, port)
  // With rules, writing without a token may be refused.
  if (config.samples && isEmpty && config.rules === NONE)
    await (await import('./samples.js')).writeSamples(url, config.lifetimeMsMax)
  if (config.logFormat === 'json') {
    log.write('info', 'serving', { url, host, port, data, workers, durability })
    return
  }
  process.stdout.write(
    [
      `Freshet: ${url} (Ctrl-C stops it); data in ${data}`,
      ...(config.page ? ['  Open it in a browser: change a price, and watch two readers behind the same cache.'] : []),
      ...(config.console ? [`  Console for operators: ${url}/console`] : []),
      ...(config.samples ? [`  Try it with curl: curl -i ${url}/db/shop/products/tea`] : []),
      '',
    ].join('\n'),
  )
}

/** The address of the server for this machine. */
function urlFor(host: string, port: number): string {
  if (['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'].includes(host)) return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function reportFailure(error: unknown, { mode, config }: ServeSetup): Promise<void> {
  const neighbour = isOfNeighbour(error) ? await findNeighbour(urlFor(config.host, config.port)) : undefined
  const line = refusalOf(error, { config, neighbour, command: commandOf(mode) })
  process.stderr.write(
    line === undefined ? `Freshet failed unexpectedly; please report this: ${inspect(error)}\n` : `${line}\n`,
  )
}

/** What the user typed, so that options can follow: npm passes on only those after two dashes. */
function commandOf(mode: Mode): string {
  const { npm_lifecycle_event: event, npm_command: command } = process.env
  if (event === 'start') return 'npm start --'
  if (command !== 'exec') return `freshet ${mode}`
  return `npx ${import.meta.url.includes('/node_modules/') ? '@freshet/cli' : 'freshet'} ${mode}`
}
