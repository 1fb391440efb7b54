/** What a kill -9 must not do, and what two processes may do to one file at the same time. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Position, Store } from '@freshet/core/store'
import { openSqliteStore } from '@freshet/engines/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { textOf } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'

const program = fileURLToPath(new URL('./under-test/crashing-writer.js', import.meta.url)).replace('/src/', '/dist/')
const KILLS = Number(process.env.FRESHET_KILLS ?? 12)

type Acknowledged = readonly [id: string, position: Position]

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-sqlite-'))
  path = join(folder, 'shop.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

test(`processes that write one file, and are killed ${KILLS} times, lose no acknowledged commit`, async () => {
  const acknowledged: Acknowledged[] = []
  let log: string | undefined
  let highest = 0
  for (let round = 0; round < KILLS; round++) {
    const before = acknowledged.length
    const writers = ['x', 'y']
      .slice(0, 1 + (round % 2))
      .map(name => start(`${name}${round}`, 1 + (round % 5), acknowledged))
    await eventually('all have committed', () => writers.every(({ count }) => count() > 0))
    // A random time, not a wait for a condition: the kill may come at any moment.
    await delay(Math.random() * 80)
    await Promise.all(writers.map(({ kill }) => kill()))
    const store = await openSqliteStore({ path })
    log ??= store.log
    expect(store.log).toBe(log)
    const positions = acknowledged.slice(before).map(([, position]) => position)
    expect(Math.min(...positions)).toBeGreaterThan(highest)
    highest = await check(store, acknowledged)
    await store.close()
  }
  expect(acknowledged.length).toBeGreaterThan(KILLS * 5)
})

test('two processes that write without pause both get their turns', async () => {
  const acknowledged: Acknowledged[] = []
  const writers = ['x', 'y'].map(name => start(name, 4, acknowledged))
  await eventually('both have committed often', () => writers.every(({ count }) => count() >= 200))
  await Promise.all(writers.map(({ kill }) => kill()))
  const store = await openSqliteStore({ path })
  await check(store, acknowledged)
  await store.close()
})

test('listeners hear of commits of another process, and later reads include them', async () => {
  const store = await openSqliteStore({ path })
  const heard: Position[] = []
  const stop = store.onCommit(position => heard.push(position))
  const acknowledged: Acknowledged[] = []
  const writer = start('x', 1, acknowledged)
  await eventually(
    'it is heard of',
    () => acknowledged.length > 0 && heard.length > 0 && heard.at(-1)! >= acknowledged[0]![1],
  )
  expect((await store.get(`crash/a/${acknowledged[0]![0]}`))?.version).toBe(acknowledged[0]![1])
  await writer.kill()
  stop()
  await store.close()
})

test('a process that keeps the file locked delays commits, which are refused if it takes too long', async () => {
  const { DatabaseSync } = await import('@photostructure/sqlite')
  const store = await openSqliteStore({ path, waitMsMax: 800 })
  const other = new DatabaseSync(path)
  const commit = () => store.commit({ writes: [{ key: 'a/b/1', contentType: 'text/plain', body: Buffer.from('1') }] })
  other.exec('BEGIN IMMEDIATE')
  const late = commit()
  await delay(50)
  other.exec('ROLLBACK')
  expect(await late).toMatchObject({ committed: true })
  other.exec('BEGIN IMMEDIATE')
  await expect(commit()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
  expect(await textOf(store, 'a/b/1')).toBe('1')
  other.exec('ROLLBACK')
  other.close()
  expect(await commit()).toMatchObject({ committed: true })
  await store.close()
})

interface RunningWriter {
  count(): number
  kill(): Promise<void>
}

function start(name: string, inFlight: number, acknowledged: Acknowledged[]): RunningWriter {
  const child: ChildProcess = fork(program, [path, name, `${inFlight}`])
  let count = 0
  child.on('message', message => {
    acknowledged.push(message as Acknowledged)
    count++
  })
  return {
    count: () => count,
    async kill() {
      const ended = once(child, 'close')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** Returns the position. */
async function check(store: Store, acknowledged: readonly Acknowledged[]): Promise<Position> {
  const all = async (bucket: string) => (await store.scan(bucket, { limit: 1_000_000 })).entries
  const [a, b] = await Promise.all([all('crash/a'), all('crash/b')])
  // No commit is there in part.
  expect(b.map(({ id, version }) => [id, version])).toEqual(a.map(({ id, version }) => [id, version]))
  const versions = new Map(a.map(({ id, version }) => [id, version]))
  expect(acknowledged.filter(([id, position]) => versions.get(id) !== position)).toEqual([])
  // Each counted once, and has its own position in the log.
  expect(await textOf(store, 'crash/n/all')).toBe(`${a.length}`)
  const log = await store.changes(await store.trimmedTo(), 1_000_000)
  expect(log.map(({ position }) => position)).toEqual([...versions.values()].sort((x, y) => x - y))
  return store.position()
}
