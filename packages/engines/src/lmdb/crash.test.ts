/** What a kill -9 must not do: of the writer, at any moment; of a reader, to any other process. */
import { setTimeout } from 'node:timers/promises'
import type { LogEntry, Position, StoredEntry } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { type FromWriter, ipcChannel, type ToWriter } from './channel.js'
import { openEmbeddedReader } from './embedded-reader.js'
import { type EmbeddedStore, openEmbeddedStore } from './embedded-store.js'
import { serveReaders } from './serve-readers.js'
import type { Acknowledged } from './under-test/crashing-writer.js'
import { type RunningProcess, startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

const crashingWriter = new URL('./under-test/crashing-writer.js', import.meta.url)
const busyReader = new URL('./under-test/busy-reader.js', import.meta.url)
const writerProcess = new URL('./under-test/writer-process.js', import.meta.url)
const KILLS = Number(process.env.FRESHET_KILLS ?? 25)

const isAcknowledged = (message: unknown): message is Acknowledged => Array.isArray(message)
const isOpen = (message: unknown): message is 'open' => message === 'open'
const isOpening = (message: unknown): message is { openedAt: Position; timeMs: number } =>
  typeof message === 'object' && message !== null && 'openedAt' in message

test(`a writer that is killed ${KILLS} times keeps what it acknowledged, whole, and gives no position twice`, async () => {
  const folder = await temporaryFolder()
  let highest = 0
  let timeMs = 0
  let total = 0
  for (let round = 0; round < KILLS; round++) {
    const killed = await runAndKill(folder.path, round)
    expect(killed.opening.openedAt).toBeGreaterThanOrEqual(highest)
    expect(killed.opening.timeMs).toBeGreaterThanOrEqual(timeMs)
    const store = await openEmbeddedStore({ path: folder.path })
    const entries = await checkRound(store, round, killed.acknowledged)
    expect(entries[0]?.position).toBeGreaterThan(highest)
    total += killed.acknowledged.length
    highest = await store.position()
    timeMs = entries.at(-1)!.timeMs
    expect(store.nowMs()).toBeGreaterThanOrEqual(timeMs)
    await store.close()
  }
  expect(total).toBeGreaterThan(KILLS * 10)
  await folder.remove()
})

interface Killed {
  readonly opening: { readonly openedAt: Position; readonly timeMs: number }
  readonly acknowledged: readonly Acknowledged[]
}

async function runAndKill(path: string, round: number): Promise<Killed> {
  const writer = startProcess(crashingWriter, [path, String(round), String([1, 4, 32][round % 3])])
  const acknowledged: Acknowledged[] = []
  writer.child.on('message', message => {
    if (isAcknowledged(message)) acknowledged.push(message)
  })
  const opening = await writer.message(isOpening)
  await writer.message(isAcknowledged)
  // A random time, not a wait for a condition: the kill may come at any moment.
  await setTimeout(Math.random() * 80)
  await writer.kill()
  return { opening, acknowledged }
}

/** Returns this round's entries of the log. */
async function checkRound(
  store: EmbeddedStore,
  round: number,
  acknowledged: readonly Acknowledged[],
): Promise<LogEntry[]> {
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map(name => allOf(store, `crash/${name}-${round}`)))
  // No commit is there in part.
  expect(b!.map(({ id, version }) => [id, version])).toEqual(a!.map(({ id, version }) => [id, version]))
  expect(c!.map(({ id, version }) => [id, version])).toEqual(a!.map(({ id, version }) => [id, version]))
  // Everything that was acknowledged is there, unchanged.
  const versions = new Map(a!.map(({ id, version }) => [id, version]))
  for (const [number, position] of acknowledged) expect(versions.get(String(number))).toBe(position)
  for (const { id, body } of a!) expect(Buffer.from(body).toString()).toBe(`${id} `.repeat(1 + (Number(id) % 60)))
  // The log has an entry for each, and for nothing else.
  const log = (await wholeLog(store)).filter(({ keys }) => keys[0]?.startsWith(`crash/a-${round}/`))
  const byPosition = a!.map(({ id, version }) => [version, id] as const).sort((x, y) => x[0] - y[0])
  expect(log.map(({ position, keys }) => [position, keys[0]])).toEqual(
    byPosition.map(([version, id]) => [version, `crash/a-${round}/${id}`]),
  )
  expect(log.every(({ keys }) => keys.length === 4)).toBe(true)
  const times = log.map(({ timeMs }) => timeMs)
  expect(times).toEqual([...times].sort((x, y) => x - y))
  expect((await store.get('crash/a/shared'))?.version).toBe(log.at(-1)?.position)
  return log
}

async function allOf(store: EmbeddedStore, bucket: string): Promise<readonly StoredEntry[]> {
  return (await store.scan(bucket, { limit: 1_000_000 })).entries
}

async function wholeLog(store: EmbeddedStore): Promise<readonly LogEntry[]> {
  return store.changes(await store.trimmedTo(), 1_000_000)
}

test('a killed reader takes nothing with it: the writer continues, and forgets the reader', async () => {
  const folder = await temporaryFolder()
  const store = await openEmbeddedStore({ path: folder.path })
  const service = serveReaders(store)
  const readers: RunningProcess[] = []
  let forgotten = 0
  for (let kill = 0; kill < 4; kill++) {
    const reader = startProcess(busyReader, [folder.path])
    readers.push(reader)
    const { send, onMessage } = ipcChannel<ToWriter, FromWriter>(reader.child)
    // Without `onClose`, so that the test finds what the service would have cleaned up.
    service.attach({ send, onMessage })
    await reader.message(isOpen)
    const until = Date.now() + 20 + Math.random() * 60
    while (Date.now() < until) await store.commit({ writes: [put('a/b/1', kill), put('a/b/2', kill)] })
    await reader.kill()
    // A reader that was killed while it had LMDB's table of readers locked is forgotten as well, but LMDB does not count it.
    forgotten += store.engine.forgetDeadReaders()
    expect(store.engine.forgetDeadReaders()).toBe(0)
    const result = await store.commit({ writes: [put('a/b/1', kill)] })
    expect(result.committed).toBe(true)
    expect((await store.get('a/b/1'))?.body).toEqual(Buffer.from(String(kill)))
  }
  expect(forgotten).toBeGreaterThan(0)
  await store.close()
  await folder.remove()
})

test('a reader whose writer is killed reports that, and still reads what it knows to be durable', async () => {
  const folder = await temporaryFolder()
  const writer = startProcess(writerProcess, [folder.path])
  await writer.message(isOpen)
  const reader = await openEmbeddedReader({
    path: folder.path,
    channel: ipcChannel<FromWriter, ToWriter>(writer.child),
  })
  await reader.commit({ writes: [put('a/b/1', 1)] })
  writer.child.kill('SIGSTOP')
  const unanswered = expect(reader.commit({ writes: [put('a/b/1', 2)] })).rejects.toMatchObject({
    code: 'STORE_CLOSED',
  })
  await writer.kill()
  await unanswered
  await expect(reader.commit({ writes: [put('a/b/1', 3)] })).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  expect((await reader.get('a/b/1'))?.body).toEqual(Buffer.from('1'))
  await reader.close()
  await folder.remove()
})

function put(key: string, value: number) {
  return { key, contentType: 'text/plain', body: Buffer.from(String(value)) }
}
