/**
 * A Freshet server over an embedded store, some of whose answers leave late: after they were read from the store, so they may be
 * outdated by the time they reach a cache. The settings come as JSON in the only argument.
 *
 * The process reports to its parent, over IPC, when it listens, and how many objects and lists it has served so far.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import {
  createForgetfulBloom,
  createRecyclableBloom,
  type ForgetfulBloomOptions,
  type RecyclableBloomOptions,
  type WindowedFilter,
} from '@freshet/bloom'
import { openNamedStore } from '@freshet/cli/dist/places/open-store.js'
import type { Store } from '@freshet/core/store'
import { type EmbeddedStoreOptions, openEmbeddedStore } from '@freshet/engines/lmdb'
import { createFreshetServer, type PageFile } from '@freshet/server'
import type { ServerSettings } from '@freshet/server/configuration'

export interface SlowOriginSettings {
  readonly path: string
  readonly port: number
  readonly settings: Partial<ServerSettings>
  /** The share of answers that are late, and their delay. */
  readonly lateShare: number
  readonly lateMs: number
  /** Default 'relaxed', which survives kill -9 and does not make the test wait for the disk. */
  readonly durability?: 'disk' | 'relaxed'
  /** The URL of an engine. Default: the embedded store at `path`. */
  readonly store?: string
  /** The filter that remembers foreign operation ids, instead of the exact memory. */
  readonly filter?: ServedFilter
  /** The folder whose files the server serves at /demo/ and, for browsers, at /. */
  readonly pageFolder?: string
}

export interface ServedFilter {
  readonly retentionMs: number
  /** If the filter errs more than twice as often, the server refuses operations. */
  readonly falsePositiveRateMax: number
  readonly forgetful?: ForgetfulBloomOptions
  readonly recyclable?: RecyclableBloomOptions
}

export type SlowOriginMessage = 'listening' | { readonly dataReads: number }

const TELL_INTERVAL_MS = 20
const ATTEMPTS_MAX = 5
const TAKEN_MS = 100
const CONTENT_TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' }

const given = JSON.parse(process.argv[2]!) as SlowOriginSettings
const { port, settings, lateShare, lateMs, pageFolder } = given
const store = await openStore(given)
const freshet = createFreshetServer({ store, settings, page: filesIn(pageFolder) })
let dataReads = 0
let attemptsLeft = ATTEMPTS_MAX

const server = createServer((request, response) => {
  if (isDataRead(request)) dataReads++
  if (request.method === 'GET' && !request.url!.startsWith('/coherence/events') && Math.random() < lateShare) {
    makeLate(response)
  }
  freshet.handle(request, response)
})
server.keepAliveTimeout = 60_000
server.on('error', (error: NodeJS.ErrnoException) => {
  // Another process may have the port for the moment in which it checks whether the port is free.
  if (error.code !== 'EADDRINUSE' || --attemptsLeft === 0) throw error
  setTimeout(listen, TAKEN_MS)
})
server.once('listening', () => tell('listening'))
listen()

let reportedReads = 0
setInterval(() => {
  if (dataReads !== reportedReads) tell({ dataReads })
  reportedReads = dataReads
}, TELL_INTERVAL_MS)
process.once('disconnect', () => process.exit())

async function openStore({ path, store, durability = 'relaxed', filter }: SlowOriginSettings): Promise<Store> {
  if (store !== undefined) return openNamedStore(store, () => {})
  return openEmbeddedStore({ path, durability, ...(filter && compactBy(filter)) })
}

function compactBy(filter: ServedFilter): Pick<EmbeddedStoreOptions, 'compact' | 'retentionMs'> {
  const { retentionMs, falsePositiveRateMax, forgetful, recyclable } = filter
  const createFilter = (windowMs: number): WindowedFilter => {
    if (forgetful) return createForgetfulBloom(forgetful)
    const bloom = createRecyclableBloom(recyclable!)
    return {
      windowMs,
      add: key => void bloom.insert(key),
      has: key => bloom.has(key),
      estimatedRate: () => bloom.estimatedRate(),
      sizeBytes: () => recyclable!.bits / 8,
    }
  }
  return { retentionMs, compact: { falsePositiveRateMax, createFilter } }
}

function filesIn(folder: string | undefined): Record<string, PageFile> {
  if (folder === undefined) return {}
  const files = readdirSync(folder).map(name => [
    name,
    { contentType: `${CONTENT_TYPES[extname(name)]}; charset=utf-8`, body: readFileSync(join(folder, name)) },
  ])
  return Object.fromEntries(files)
}

function listen(): void {
  server.listen(port, '127.0.0.1')
}

function isDataRead({ method, url }: IncomingMessage): boolean {
  return method === 'GET' && url!.startsWith('/db/')
}

function makeLate(response: ServerResponse): void {
  const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse
  response.end = ((...args: unknown[]) => {
    setTimeout(() => end(...args), lateMs)
    return response
  }) as ServerResponse['end']
}

function tell(message: SlowOriginMessage): void {
  process.send?.(message)
}
