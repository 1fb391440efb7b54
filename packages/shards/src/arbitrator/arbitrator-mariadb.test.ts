import { describe, expect, test } from 'vitest'
import type { GlobalWrite } from '../plan/index.js'
import { arbitratorOf, TIMEOUT_MS, testArbitration } from '../under-test/test-arbitration.js'
import { useMariadbShards } from '../under-test/use-shards.js'

const started = useMariadbShards()

testArbitration(started)

describe('a schema change in MariaDB, which commits by itself,', () => {
  /** Leaves the shard as a server does that is killed at this point. */
  async function begin(write: GlobalWrite, isDone: boolean): Promise<void> {
    const { run } = started().databases
    const [row] = await run('b', 'SHOW CREATE TABLE visits')
    const before = `visits: ${String(row!['Create Table']).replace(/ AUTO_INCREMENT=\d+/, '')}`
    await run('b', 'UPDATE freshet_shard SET changing = ?, before_change = ?', [write.position, before])
    if (isDone) await run('b', write.text)
  }

  test.each([
    ['before it was done', false],
    ['after it was done', true],
  ])('that was interrupted %s is finished, and not done twice', async (_, isDone) => {
    const [, shard] = started().shards
    const next = (await started().log.head()) + 1
    const column = isDone ? 'late' : 'early'
    const change = {
      text: `alter table visits add column ${column} int`,
      values: [],
      aspects: ['visits'],
      isSchemaChange: true,
    }
    const write = { ...change, position: next }
    await started().log.append(change, { id: undefined, fingerprint: '' })
    await begin(write, isDone)
    expect(await shard!.state()).toMatchObject({ isChanging: true, applied: next - 1 })
    expect(await shard!.apply(write, TIMEOUT_MS)).toBe(true)
    expect(await shard!.state()).toMatchObject({
      isChanging: false,
      applied: next,
      versions: { visits: next, '*schema': next },
    })
    const { tables } = await shard!.catalog()
    expect(tables.get('visits')!.filter(({ name }) => name === column)).toHaveLength(1)
    for (const each of started().shards) await arbitratorOf(started()).bringUpToDate(each)
  })
})
