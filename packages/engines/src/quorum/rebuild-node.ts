/**
 * Rebuilds a node from the others, if it has come back empty, or was away until the log forgot what it missed.
 *
 * Its voice. What it had promised and accepted is gone. That may have been the vote that decided a slot, or the promise that
 * kept one from being decided. So it gets a voice only after a majority, without this node, has promised a ballot B that is
 * higher than all of theirs (`ReplicatedLog.settle`). A slot that was decided with its old vote was also accepted by a node of
 * that majority, since two majorities have another node than this one in common; the slot is finished in B. And the nodes of
 * that majority have now promised B, so no lower ballot can win with them. The rebuilt node gets every slot of the log, as
 * accepted in B, and then B as its promise, in that order. Its promise has a version that it never had, so no server's old
 * request for its vote succeeds. Meanwhile the other nodes may decide more, without it.
 *
 * Its rows. They are copied from a node that is far enough, bucket by bucket, while that node goes on; so some rows are of a
 * later state than others. Then the log is applied from the slot where the copy began, and all rows are of one state again. A
 * read before that is right too: every reader has the end of the log over the rows, which makes up for rows that are ahead, as
 * it always does.
 */
import { randomUUID } from 'node:crypto'
import type { Key, Store, Write } from '@freshet/core/store'
import type { LogDatabase } from '../log/log-database.js'
import { APPLIED, type Applied, CLOCKS, FIRST, type First, REBUILDING, VOICE, type Voice } from './node-keys.js'
import { holdsOthers, jsonWrite, parse, type QuorumNode, slotWrite, voiceWrite } from './quorum-node.js'
import { encodeRecord } from './record-bytes.js'
import { type ReplicatedLog, SLOTS_PER_PART } from './replicated-log.js'
import type { ReplicatedRegisters } from './replicated-registers.js'

export interface RebuildParts {
  readonly nodes: readonly QuorumNode[]
  readonly log: ReplicatedLog
  readonly registers: ReplicatedRegisters
  readonly database: LogDatabase
}

const PAGE = 200
const NOT_THERE = 0
/** What a node keeps for itself; everything else is rows. */
const OWN_BUCKETS: ReadonlySet<Key> = new Set(['.ring/node', '.ring/log'])
const MS_MAX = 30_000

/** Whether this quorum may rebuild the node: it is empty, or a rebuild has begun. Otherwise its data may be needed elsewhere. */
export async function isToRebuild(node: QuorumNode): Promise<boolean> {
  const [voice, rebuilding] = await node.read([VOICE, REBUILDING])
  if (voice !== undefined) return false
  if (rebuilding !== undefined) return (parse(rebuilding) as { readonly ring: string }).ring === node.ring
  if (await holdsOthers(node)) return false
  const reads = [VOICE, REBUILDING].map(key => ({ key, version: NOT_THERE }))
  return (await node.commit({ reads, writes: [jsonWrite(REBUILDING, { ring: node.ring })] })) !== undefined
}

export async function rebuildVoice(node: QuorumNode, { nodes, log, registers, database }: RebuildParts): Promise<void> {
  await database.look()
  const { ballot, next } = await log.settle(database.slot)
  const clocks = Object.fromEntries(await registers.highest())
  const firstSlot = database.state.firstPart * SLOTS_PER_PART
  let previous = ''
  for (let slot = firstSlot; slot < next; ) {
    const records = (await log.recordsAfter(slot - 1)).filter(record => record.slot < next).slice(0, SLOTS_PER_PART)
    if (records.length === 0) throw new Error(`Slot ${slot} cannot be read.`)
    const writes = records.map(record => {
      const entry = { id: record.id, previous, value: encodeRecord(record) }
      previous = record.id
      return slotWrite(record.slot, { ballot, entry })
    })
    await write(node, writes)
    slot = records.at(-1)!.slot + 1
  }
  const voice: Voice = { ring: node.ring!, node: randomUUID(), of: nodes.length, isFounded: true, ballot }
  await write(node, [
    voiceWrite(voice),
    jsonWrite(FIRST, { slot: firstSlot } satisfies First),
    jsonWrite(CLOCKS, clocks),
  ])
}

export async function rebuildRows(node: QuorumNode, { nodes, database }: RebuildParts): Promise<void> {
  const floor = database.applied
  const source = nodes.find(each => each !== node && !each.isSilent && !each.isEmptied && each.applied >= floor)
  if (source === undefined) throw new Error('No other node has rows that are far enough.')
  const write = await beginRows(node)
  await eachRow(node, async rows => {
    await write(rows.map(({ key }) => ({ key, delete: true })))
  })
  await eachRow(source, async rows => {
    const [applied] = await source.read([APPLIED])
    if (applied === undefined) throw new Error(`${source.place} is empty now.`)
    await write(rows)
  })
  await write([jsonWrite(APPLIED, { slot: floor } satisfies Applied), { key: REBUILDING, delete: true }])
  node.needsRows = false
}

/** From now on the node has no rows. A server that has begun a rebuild before writes nothing more, not even late requests. */
async function beginRows(node: QuorumNode): Promise<(writes: readonly Write[]) => Promise<void>> {
  const keys = [APPLIED, REBUILDING]
  const reads = (await node.read(keys)).map((found, i) => ({ key: keys[i]!, version: found?.version ?? NOT_THERE }))
  const mark = jsonWrite(REBUILDING, { ring: node.ring, attempt: randomUUID() })
  const version = await node.commit({ reads, writes: [mark, { key: APPLIED, delete: true }] })
  return async writes => {
    const holds = version !== undefined && [{ key: REBUILDING, version }]
    const position = holds && (await node.commit({ reads: holds, writes }))
    if (!position) throw new Error(`Another server rebuilds ${node.place}.`)
  }
}

/** Only while the node has no voice: a write that arrives later changes nothing. */
async function write(node: QuorumNode, writes: readonly Write[]): Promise<void> {
  const position = await node.commit({ reads: [{ key: VOICE, version: NOT_THERE }], writes })
  if (position === undefined) throw new Error(`Another server has rebuilt ${node.place}.`)
}

async function eachRow(node: QuorumNode, take: (rows: readonly Write[]) => Promise<void>): Promise<void> {
  const ask = <Result>(work: (store: Store) => Promise<Result>) => node.ask(work, MS_MAX)
  for (const { bucket } of await ask(store => store.buckets())) {
    if (OWN_BUCKETS.has(bucket)) continue
    const [own] = await node.read([bucket])
    if (own !== undefined) await take([{ key: bucket, contentType: own.contentType, body: own.body }])
    for (let after: string | undefined; ; ) {
      const range = after === undefined ? { limit: PAGE } : { after, limit: PAGE }
      const { entries, next } = await ask(store => store.scan(bucket, range))
      const rows = entries.map(({ id, contentType, body }) => ({ key: `${bucket}/${id}`, contentType, body }))
      if (rows.length > 0) await take(rows)
      if (next === undefined) break
      after = next
    }
  }
}
