/** For tests of stores over SQL: what a database that goes away, hangs, or loses something must not do to commits. */
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { type Added, add, allChanges, aPut, operation, put, textOf, until, untilAnswered } from './commits.js'
import type { CuttingLine } from './cutting-line.js'
import { killAndCopy, type SqlDatabase, type SqlStage, urlAt } from './sql-stage.js'

/** A replica that acknowledges its primary's commits. */
export interface SqlPair {
  readonly primary: SqlDatabase
  readonly replica: SqlDatabase
  /** Call when the primary is gone. */
  promote(): Promise<void>
}

/** A database takes a while to start: without pauses, the load would take the processor time that it needs. */
const WRITE_PAUSE_MS = 10
const WATCH_PAUSE_MS = 5

export function testSqlFaults(stage: SqlStage, database: () => SqlDatabase, startPair: () => Promise<SqlPair>): void {
  testKilledDatabase(stage, database)
  testTakeOver(stage, startPair)
  testLostConnection(stage, database)
  testSilentConnection(stage, database)
  testOpening(stage, database)

  test('values remembered during refused commits are not lost', async () => {
    const store = await stage.open({ url: database().url })
    await put(store, 'a/b/1')
    for (let i = 0; i < 50; i++) {
      const refused = store.commit({ reads: [{ key: 'a/b/1', version: 1 }], writes: [aPut('a/b/1')] })
      await delay(0)
      await store.remember(`name ${i}`, Buffer.of(i))
      expect((await refused).committed).toBe(false)
      expect(await store.recall(`name ${i}`)).toEqual(Buffer.of(i))
    }
  })
}

function testKilledDatabase(stage: SqlStage, database: () => SqlDatabase): void {
  describe('a killed database', () => {
    test('loses nothing that was acknowledged or seen, does nothing twice, and no position is given twice', async () => {
      const settings = { url: database().url, space: stage.space() }
      const stores = [await stage.open(settings), await stage.open(settings)]
      const heard: number[] = []
      stores[1]!.onCommit(position => heard.push(position))
      const done: Added[] = []
      const seen = new Set<number>()
      let isOver = false
      const working = Array.from({ length: 32 }, async (_, worker) => {
        for (let i = 0; !isOver; i++) {
          done.push(await add(stores[i % 2]!, `a/n/${worker}`, i % 3 === 0))
          await delay(WRITE_PAUSE_MS)
        }
      })
      const watching = Array.from({ length: 4 }, async (_, worker) => {
        while (!isOver) {
          const value = await stores[1]!.get(`a/n/${worker}`)
          if (value) seen.add(value.version)
          await delay(WATCH_PAUSE_MS)
        }
      })
      for (let kills = 0; kills < 3; kills++) {
        const before = done.length
        await until(() => done.length > before + 300)
        await database().kill()
        await database().startAgain()
      }
      isOver = true
      await Promise.all([...working, ...watching])
      const positions = done.map(({ position }) => position)
      expect(new Set(positions).size).toBe(positions.length)
      for (let worker = 0; worker < 32; worker++) {
        const times = done.filter(({ key }) => key === `a/n/${worker}`).length
        expect(await textOf(stores[worker % 2]!, `a/n/${worker}`)).toBe(`${times}`)
      }
      for (const { again, position } of done) {
        if (again) expect(await again()).toMatchObject({ committed: true, position, replayed: { note: '' } })
      }
      const log = await allChanges(stores[0]!)
      expect(log).toEqual([...positions].sort((a, b) => a - b))
      expect([...seen].filter(position => !log.includes(position))).toEqual([])
      const last = await put(stores[0]!, 'a/b/last')
      await until(() => heard.at(-1)! >= last)
    })

    test('positions continue beyond those that it has lost', async () => {
      const own = await stage.engine.start()
      const settings = { url: own.url, space: stage.space() }
      const store = await stage.open(settings)
      await put(store, 'a/b/1')
      const putBack = await killAndCopy(own)
      await own.startAgain()
      const forgotten = await put(store, 'a/b/2')
      await putBack()
      await own.startAgain()
      expect(await store.get('a/b/2')).toBe(undefined)
      const forgottenToo = await put(store, 'a/b/3')
      expect(forgottenToo).toBeGreaterThan(forgotten)
      expect(await put(await stage.open({ url: own.url }), 'a/b/1')).toBeGreaterThan(forgotten)
      await store.close()
      await putBack()
      await own.startAgain()
      expect(await put(await stage.open(settings), 'a/b/1')).toBeGreaterThan(forgottenToo)
    })
  })
}

function testTakeOver(stage: SqlStage, startPair: () => Promise<SqlPair>): void {
  test('when a replica takes over, all commits that it had acknowledged are there, and nothing is done twice', async () => {
    const { primary, replica, promote } = await startPair()
    const line = await stage.line(primary)
    const settings = { url: urlAt(primary, line.port), space: stage.space() }
    const stores = [await stage.open(settings), await stage.open(settings)]
    const done: Added[] = []
    const seen = new Set<number>()
    let isOver = false
    const working = Array.from({ length: 16 }, async (_, worker) => {
      for (let i = 0; !isOver; i++) done.push(await add(stores[i % 2]!, `a/n/${worker % 4}`, i % 3 === 0))
    })
    const watching = (async () => {
      while (!isOver) seen.add((await stores[1]!.get('a/n/0'))?.version ?? 0)
    })()
    await until(() => done.length > 300)
    await primary.kill()
    line.cut()
    await promote()
    line.target = replica.port
    line.mend()
    const before = done.length
    await until(() => done.length > before + 300)
    isOver = true
    await Promise.all([...working, watching])
    const positions = done.map(({ position }) => position)
    // The log begins again, because losses cannot be ruled out.
    const begin = await stores[0]!.trimmedTo()
    expect(await allChanges(stores[0]!)).toEqual(positions.filter(each => each > begin).sort((a, b) => a - b))
    expect(new Set(positions).size).toBe(positions.length)
    expect([...seen].filter(position => position > 0 && !positions.includes(position))).toEqual([])
    const sums = await Promise.all([0, 1, 2, 3].map(async i => Number(await textOf(stores[1]!, `a/n/${i}`))))
    expect(sums.reduce((sum, each) => sum + each, 0)).toBe(done.length)
    expect(await put(stores[0]!, 'a/b/last')).toBeGreaterThan(Math.max(...positions))
    for (const { again, position } of done.slice(-100)) {
      if (again) expect(await again()).toMatchObject({ committed: true, position, replayed: { note: '' } })
    }
  })
}

function testLostConnection(stage: SqlStage, database: () => SqlDatabase): void {
  const { committing } = stage.engine
  const openAt = openerAt(stage, database)

  describe('a lost connection', () => {
    test.each(['before', 'after'] as const)('%s COMMIT has arrived: the commit under way is done once', async when => {
      const line = await stage.line(database())
      const store = await openAt(line)
      for (let i = 1; i <= 10; i++) {
        line.cutNext({ request: committing, when })
        const { units } = await add(store, 'a/n/x', i % 2 === 0)
        expect(units).toEqual([i])
      }
      expect(line.cuts).toBe(10)
      expect(await textOf(store, 'a/n/x')).toBe('10')
      expect((await allChanges(store)).length).toBe(10)
    })

    test('that does not come back in time: the outcome is reported as unknown; under its id a commit is done once', async () => {
      const line = await stage.line(database())
      const space = stage.space()
      const store = await openAt(line, { space, waitMsMax: 300 })
      const other = await stage.open({ url: database().url, space })
      for (const isNamed of [true, false]) {
        const key = `a/n/${isNamed}`
        const commit = { writes: [], adds: [{ key, by: 1, decimals: 0 }], ...(isNamed && operation('once')) }
        line.cutNext({ request: committing, when: 'after', forAll: true })
        const error = await store.commit(commit).catch(failure => failure)
        expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
        expect(await textOf(other, key)).toBe('1')
        const refused = await store.commit({ writes: [aPut('a/b/c')] }).catch(failure => failure)
        expect(refused).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
        await expect(store.get('a/b/c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
        line.mend()
        if (isNamed) {
          const repeated = await untilAnswered(() => store.commit(commit))
          expect(repeated).toMatchObject({ units: [1], replayed: { note: '' } })
        }
        expect(await untilAnswered(() => store.get('a/b/c'))).toBe(undefined)
        expect(await textOf(store, key)).toBe('1')
      }
    })

    test('stops the clock, which later continues without a jump', async () => {
      const line = await stage.line(database())
      const space = stage.space()
      const store = await openAt(line, { space, waitMsMax: 300 })
      line.cut()
      let stoodAt = 0
      for (let last = -1; stoodAt !== last; await delay(100)) {
        last = stoodAt
        stoodAt = store.nowMs()
      }
      const other = await stage.open({ url: database().url, space })
      const position = await put(other, 'a/b/c')
      const [entry] = await other.changes(position - 1)
      expect(entry?.timeMs).toBeGreaterThanOrEqual(stoodAt)
      line.mend()
      await until(() => store.nowMs() > stoodAt)
    })
  })
}

function testSilentConnection(stage: SqlStage, database: () => SqlDatabase): void {
  const openAt = openerAt(stage, database)

  test('a connection that falls silent is closed, and all its open requests are retried', async () => {
    const line = await stage.line(database())
    const space = stage.space()
    const store = await openAt(line, { space, patienceMs: 400 })
    const other = await stage.open({ url: database().url, space })
    await put(store, 'a/b/1')
    line.silence()
    const results = await Promise.all([
      store.get('a/b/1'),
      store.scan('a/b', { filter: () => true }),
      put(store, 'a/b/2'),
      // Whatever the silent connection had locked, others continue.
      put(other, 'a/b/3'),
    ])
    expect(results[0]?.body.length).toBe(1)
    const heard: number[] = []
    store.onCommit(position => heard.push(position))
    const position = await put(other, 'a/b/4')
    await until(() => heard.at(-1)! >= position)
  })
}

/** Opens stores that reach the database over a line. */
function openerAt(stage: SqlStage, database: () => SqlDatabase) {
  return (line: CuttingLine, more: { space?: string; waitMsMax?: number; patienceMs?: number } = {}) =>
    stage.open({ url: urlAt(database(), line.port), ...more })
}

function testOpening(stage: SqlStage, database: () => SqlDatabase): void {
  test.each([
    ['no server listens', () => urlAt(database(), 1), 'STORE_UNAVAILABLE', /does not answer/],
    ['there is no such database', () => `${database().url}-not`, 'STORE_UNUSABLE', /no such database/],
    ['the URL is not a URL', () => database().url.replace(/\/\/.*/, '//['), 'STORE_UNUSABLE', /cannot be understood/],
  ])('opening reports what is wrong if %s', async (_, url, code, text) => {
    const error = await stage.engine
      .open({ url: url(), space: stage.space(), waitMsMax: 1000 })
      .catch(failure => failure)
    expect(error).toMatchObject({ code })
    expect(error.message).toMatch(text)
  })
}
