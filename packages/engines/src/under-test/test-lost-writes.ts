/**
 * For tests of stores over SQL: if a database may have lost what it had acknowledged, the log becomes another one, and all
 * its readers start over.
 */
import { expect, test } from 'vitest'
import { allChanges, put } from './commits.js'
import { eventually } from './eventually.js'
import { killAndCopy, type SqlDatabase, type SqlStage, urlAt } from './sql-stage.js'

/** A replica that follows its primary, and need not acknowledge anything. */
export interface LossyPair {
  readonly primary: SqlDatabase
  readonly replica: SqlDatabase
  /** The position that the replica has reached; 0 while it does not know the table. */
  positionOfReplica(): Promise<number>
  /** From now on the replica receives nothing. */
  stopFollowing(): Promise<void>
  promote(): Promise<void>
}

/** Shared by all stores of a database. */
export const LOSSY_SPACE = 'lost_'

export function testLostWrites(stage: SqlStage, startPair: () => Promise<LossyPair>): void {
  testLossyTakeOver(stage, startPair)
  const open = openerOn(stage)

  test('a database restored from an older copy: the log is another one, whichever server returns first', async () => {
    const database = await stage.engine.start()
    const line = await stage.line(database)
    const [store, ignorant] = [await open(database.url), await open(urlAt(database, line.port))]
    const { log } = store
    const before = await put(store, 'a/b/1')
    expect(await ignorant.position()).toBe(before)
    const putBack = await killAndCopy(database)
    line.cut()
    await database.startAgain()
    const lost = await put(store, 'a/b/1')
    expect(store.log).toBe(log)
    await putBack()
    line.mend()
    await database.startAgain()
    expect((await ignorant.get('a/b/1'))?.version).toBe(before)
    expect(await put(ignorant, 'a/b/2')).toBeGreaterThan(lost)
    expect((await store.get('a/b/1'))?.version).toBe(before)
    for (const each of [store, ignorant]) {
      await expect(each.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
      expect(each.log).not.toBe(log)
    }
    expect(store.log).toBe(ignorant.log)
  })

  test('a durable database that is killed or restarted, and lost connections: the log stays the same and continues', async () => {
    const database = await stage.engine.start()
    const line = await stage.line(database)
    const [store, other] = [await open(urlAt(database, line.port)), await open(database.url)]
    const { log } = store
    const positions: number[] = []
    const commit = async () => {
      for (const each of [store, other]) positions.push(await put(each, 'a/b/1'))
    }
    await commit()
    await killAndStart(database)
    await commit()
    await (database.shutDown?.() ?? database.kill())
    await database.startAgain()
    await commit()
    for (let cuts = 0; cuts < 3; cuts++) {
      line.cut()
      line.mend()
      await commit()
    }
    positions.push(await put(await open(database.url), 'a/b/1'))
    for (const each of [store, other]) {
      expect(await allChanges(each)).toEqual(positions)
      expect(each.log).toBe(log)
    }
  })
}

function testLossyTakeOver(stage: SqlStage, startPair: () => Promise<LossyPair>): void {
  const open = openerOn(stage)

  test('a replica that takes over without the last commits: running and new servers find another log', async () => {
    const { primary, replica, ...pair } = await startPair()
    const address = await stage.line(primary)
    const url = urlAt(primary, address.port)
    const [store, other] = [await open(url), await open(url)]
    const { log } = store
    const heard: number[] = []
    other.onCommit(position => heard.push(position))
    const before = await put(store, 'a/b/1')
    await eventually('the replica has it', async () => (await pair.positionOfReplica()) >= before)
    await pair.stopFollowing()
    const lost = await put(store, 'a/b/1')
    expect((await store.get('a/b/1'))?.version).toBe(lost)
    await primary.kill()
    address.cut()
    await pair.promote()
    address.target = replica.port
    address.mend()
    for (const each of [store, other]) {
      expect((await each.get('a/b/1'))?.version).toBe(before)
      await expect(each.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
      expect(each.log).not.toBe(log)
      expect(await each.trimmedTo()).toBeGreaterThan(lost)
      expect(await each.position()).toBeGreaterThanOrEqual(await each.trimmedTo())
    }
    const after = await put(store, 'a/b/1')
    expect(after).toBeGreaterThan(lost)
    await eventually('the other hears of it', () => heard.at(-1)! >= after)
    const late = await open(replica.url)
    expect(new Set([store.log, other.log, late.log]).size).toBe(1)
    expect(await allChanges(late)).toEqual([after])
  })
}

function openerOn(stage: SqlStage) {
  return (url: string) => stage.open({ url, space: LOSSY_SPACE, onWarning: () => {} })
}

/** Without a shutdown. */
export async function killAndStart(database: SqlDatabase): Promise<void> {
  await database.kill()
  await database.startAgain()
}
