/** A worker of `primary.ts`: answers requests, reads the store, hands commits to the primary. */
import { createFreshetServer, type MetricFamily, type RecentItem, type RecentKind } from '@freshet/server'
import { joinShards } from '@freshet/shards'
import { accessOf } from '../access/access-setup.js'
import { isEmbedded, openReader, openStore } from '../places/open-store.js'
import { openDatabase } from '../shards/open-database.js'
import { ownVersion } from '../terminal/own-version.js'
import { createLog, withFields } from './create-log.js'
import { loadClientModule } from './load-client-module.js'
import { loadConsole } from './load-console.js'
import { loadPage } from './load-page.js'
import { openRecording } from './recording-file.js'
import { settingsOf } from './serve-setup.js'
import { loadTracing } from './tracing.js'
import { type FromWorker, isFreshetMessage, type ToWorker, toWorkerError } from './worker-messages.js'

type StartMessage = Extract<ToWorker, { freshet: 'start' }>

let stop = async () => undefined as unknown
let countMetrics: () => readonly MetricFamily[] = () => []
let listRecent: (kind: RecentKind) => readonly RecentItem[] = () => []
const questions = new Map<number, (figures: readonly MetricFamily[]) => void>()
const recentQuestions = new Map<number, (items: readonly RecentItem[]) => void>()
let lastQuestion = 0

async function start({ config, slot }: StartMessage): Promise<void> {
  const log = withFields(createLog(config), { worker: slot })
  const { store, known } = await (isEmbedded(config) ? openReader : openStore)(config, log)
  const { end, ...recorded } = openRecording(config, log, [slot, config.workers])
  const tracing = await loadTracing(process.env, ownVersion())
  const shards = config.shards ? await openDatabase(config.shards) : undefined
  const server = createFreshetServer({
    store,
    settings: settingsOf(config),
    log,
    caches: config.caches,
    allMetrics,
    allRecent,
    ...accessOf(config),
    rulesMemory: known,
    putsRules: false,
    capabilities: [joinShards(shards)],
    ...(await loadPage(config)),
    ...(await loadConsole(config)),
    ...(await loadClientModule()),
    ...recorded,
    ...(tracing ? { onRequest: tracing.begin } : {}),
  })
  countMetrics = () => server.readMetrics()
  listRecent = kind => server.readRecent(kind)
  stop = async () => {
    await server.close({ graceMs: config.stopMsMax, drainMs: config.drainMs })
    end()
    await tracing?.end()
    await shards?.close()
    await store.close()
  }
  await server.listen({ port: config.port, host: config.host })
  await say({ freshet: 'ready' })
}

/** The primary collects the metrics of the other workers. */
function allMetrics(own: readonly MetricFamily[]): Promise<readonly MetricFamily[]> {
  const question = ++lastQuestion
  return new Promise(resolve => {
    questions.set(question, resolve)
    void say({ freshet: 'askMetrics', question, figures: own })
  })
}

function hearMetrics({ question, figures }: Extract<ToWorker, { freshet: 'allMetrics' }>): void {
  questions.get(question)?.(figures)
  questions.delete(question)
}

/** The primary asks the other workers, and adds what it remembers itself. */
async function allRecent(kind: RecentKind, own: readonly RecentItem[]): Promise<readonly RecentItem[]> {
  const question = ++lastQuestion
  const others = await new Promise<readonly RecentItem[]>(resolve => {
    recentQuestions.set(question, resolve)
    void say({ freshet: 'askRecent', question, kind })
  })
  return [...own, ...others]
}

function hearRecent({ question, items }: Extract<ToWorker, { freshet: 'allRecent' }>): void {
  recentQuestions.get(question)?.(items)
  recentQuestions.delete(question)
}

function say(message: FromWorker): Promise<void> {
  return new Promise(resolve => process.send!(message, undefined, undefined, () => resolve()))
}

async function obey(message: ToWorker): Promise<void> {
  if (message.freshet === 'start') return start(message)
  if (message.freshet === 'allMetrics') return hearMetrics(message)
  if (message.freshet === 'allRecent') return hearRecent(message)
  if (message.freshet === 'listRecent') {
    return say({ freshet: 'recent', question: message.question, items: listRecent(message.kind) })
  }
  if (message.freshet === 'countMetrics') {
    return say({ freshet: 'metrics', question: message.question, figures: countMetrics() })
  }
  await stop()
  process.exit(0)
}

// The primary gets the signal as well, and says when to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

process.on('message', (message: unknown) => {
  if (!isFreshetMessage(message)) return
  obey(message as ToWorker).catch(async error => {
    await say({ freshet: 'refused', error: toWorkerError(error) })
    process.exit(1)
  })
})

await say({ freshet: 'loaded' })
