/**
 * `freshet bench --url URL`: measures how many reads, conditional reads and writes a running server answers, and how quickly; and
 * how many reads through a cache in front of it. It writes objects of its own and removes them. Exit code 0: measured; 1: a
 * request was refused or not answered; 130: stopped.
 */
import { randomBytes } from 'node:crypto'
import type { BucketSettings } from '@freshet/protocol'
import { type LongRun, untilStopped } from '../terminal/until-stopped.js'
import type { BenchLine } from './bench-line.js'
import { type Measurement, type TimedRequest, TimedRequests } from './timed-requests.js'

interface Measured extends Measurement {
  readonly what: string
}

const LIFETIME_MS = 60_000
const ENVELOPE_BYTES = 16

export function runBench(line: BenchLine): Promise<number> {
  return untilStopped({ whenStopped: 'Stopped. The objects it wrote are removed.', isJson: line.isJson }, async run => {
    const server = new TimedRequests(line.url, line.clients, line.token)
    const cache = line.through === undefined ? undefined : new TimedRequests(line.through, line.clients, undefined)
    try {
      await prepareBucket(server, line)
      const measured = await measureObjects(server, cache, line, run)
      process.stdout.write(line.isJson ? `${jsonOf(line, measured)}\n` : textOf(line, measured))
      return 0
    } finally {
      server.close()
      cache?.close()
    }
  })
}

/** Measures on objects of its own, and removes them at the end. */
async function measureObjects(
  server: TimedRequests,
  cache: TimedRequests | undefined,
  line: BenchLine,
  run: LongRun,
): Promise<readonly Measured[]> {
  const targets = targetsOf(line)
  try {
    await writeObjects(server, line, targets, run)
    return await measureAll(server, cache, line, targets, run)
  } finally {
    run.progress.clear()
    await remove(server, targets)
  }
}

/** New paths in each run, so that no cache has copies from an earlier run. */
function targetsOf({ bucket, objects }: BenchLine): readonly string[] {
  const run = randomBytes(4).toString('hex')
  return Array.from({ length: objects }, (_, i) => `/db/${bucket}/${run}-${i}`)
}

async function prepareBucket(server: TimedRequests, line: BenchLine): Promise<void> {
  const settings: BucketSettings = { kind: 'object', lifetimeMs: LIFETIME_MS }
  const target = `/db/${line.bucket}`
  const found = await server.expect({ method: 'GET', target: `${target}?settings` }, [200, 404])
  if (found.status === 404) await server.expect({ method: 'PUT', target, body: JSON.stringify(settings) }, [200, 201])
}

async function writeObjects(
  server: TimedRequests,
  line: BenchLine,
  targets: readonly string[],
  { signal, progress }: LongRun,
): Promise<void> {
  const writes = targets.map((each, i) => putOf(each, line, i))
  await server.all(writes, [200, 201], signal, done => {
    progress.show({ what: 'writing objects', done, total: targets.length })
  })
}

async function measureAll(
  server: TimedRequests,
  cache: TimedRequests | undefined,
  line: BenchLine,
  targets: readonly string[],
  { signal, progress }: LongRun,
): Promise<readonly Measured[]> {
  let count = 0
  const next = () => targets[count++ % targets.length]!
  const measure = async (
    what: string,
    requests: TimedRequests,
    make: () => TimedRequest,
    statuses: readonly number[],
  ): Promise<Measured> => {
    const show = (_: number, share: number) =>
      progress.show({ what, done: Math.round(share * line.durationMs), total: line.durationMs, at: `${what}, ms` })
    return { what, ...(await requests.measure(make, statuses, line.durationMs, signal, show)) }
  }
  const read = (): TimedRequest => ({ method: 'GET', target: next() })
  const measured = [await measure('reads', server, read, [200])]
  const etags = new Map(
    (
      await server.all(
        targets.map(target => ({ method: 'GET', target })),
        [200],
        signal,
      )
    ).map(({ headers }, i) => [targets[i]!, headers.etag!] as const),
  )
  const conditional = (): TimedRequest => {
    const target = next()
    return { method: 'GET', target, headers: { 'If-None-Match': etags.get(target)! } }
  }
  measured.push(await measure('conditional reads', server, conditional, [304]))
  if (cache !== undefined) measured.push(await measure('reads through the cache', cache, read, [200]))
  measured.push(await measure('writes', server, () => putOf(next(), line, count), [200, 201]))
  return measured
}

function putOf(target: string, { bytes }: BenchLine, i: number): TimedRequest {
  const number = `${i}`
  const padding = 'x'.repeat(Math.max(0, bytes - ENVELOPE_BYTES - number.length))
  return { method: 'PUT', target, body: `{"n":${number},"pad":"${padding}"}` }
}

async function remove(server: TimedRequests, targets: readonly string[]): Promise<void> {
  try {
    await server.all(
      targets.map(target => ({ method: 'DELETE', target })),
      [200, 404],
      undefined,
    )
  } catch (error) {
    console.error(
      `Some of the ${targets.length} objects of this benchmark could not be removed: ${(error as Error).message}`,
    )
  }
}

function jsonOf(
  { url, through, objects, bytes, clients, durationMs }: BenchLine,
  measured: readonly Measured[],
): string {
  return JSON.stringify({ url, through, objects, bytes, clients, durationMs, measurements: measured })
}

function textOf({ url, objects, bytes, clients }: BenchLine, measured: readonly Measured[]): string {
  const columns = ['', 'per second', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms', 'from cache']
  const rows = measured.map(({ what, perSecond, p50, p90, p99, max, requests, fromCache }) => [
    ...[what, `${Math.round(perSecond)}`, ...[p50, p90, p99, max].map(each => each.toFixed(2))],
    `${requests === 0 ? 0 : Math.round((100 * fromCache) / requests)}%`,
  ])
  const widths = columns.map((name, i) => Math.max(name.length, ...rows.map(row => row[i]!.length)))
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')
  const about = `${url}: ${objects} objects of ${bytes} bytes, ${clients} requests at once, from this machine`
  return `${[about, '', ...[columns, ...rows].map(line)].join('\n')}\n`
}
