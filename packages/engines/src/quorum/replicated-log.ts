/**
 * The log, over nodes: a majority of them decides each slot (`core/agreement` says how, and why that is safe). No server is
 * special; a server that keeps appending needs one round trip for each record.
 *
 * A slot is open while the server that proposed it has not finished. A server that finds it open looks again after a moment; if
 * it is still open, that server finishes it.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AppendOutcome,
  type Ask,
  type Entry,
  majorityOf,
  Proposer,
  type Reply,
  SlotReader,
  type Voters,
} from '@freshet/core/agreement'
import type { LogEntry, Position, Write } from '@freshet/core/store'
import { EngineLost } from '@freshet/store/engine'
import { entriesOf, type LogRecord } from '../log/log-record.js'
import { type ChangeLog, type LogPage, SlotsGone } from '../log/log-storage.js'
import { drive } from './drive.js'
import { FIRST, type First, slotKey, VOICE } from './node-keys.js'
import { jsonWrite, parse, type QuorumNode } from './quorum-node.js'
import { decodeRecord, encodeRecord } from './record-bytes.js'

export const SLOTS_PER_PART = 64
const GRACE_MS = 5
const SURVEY_GRACE_MS = 30
const PAUSE_MS = 4
const PAUSE_MS_MAX = 1000
/** How many looks at an open slot, before this server finishes it. */
const LOOKS_MAX = 5
/** After this many looks the caller gets an error, and retries. */
const LOOKS_IN_ALL = 50
const OUTBID_MAX = 20
/** Nodes that have come back are asked to vote again. */
const SURVEY_AGAIN_MS = 1000
const KEPT_BYTES_MAX = 16 * 1024 * 1024
const NOT_THERE = 0

export class ReplicatedLog implements ChangeLog {
  readonly voters: Voters
  readonly #nodes: readonly QuorumNode[]
  readonly #proposer: Proposer<Uint8Array>
  #proposing: Promise<unknown> = Promise.resolve()
  #surveyedMs = 0
  readonly #kept = new KeptRecords()

  constructor(nodes: readonly QuorumNode[]) {
    this.#nodes = nodes
    this.voters = { nodes: nodes.length, majority: majorityOf(nodes.length) }
    this.#proposer = new Proposer({ name: randomUUID(), ...this.voters })
  }

  async append(record: LogRecord): Promise<number | undefined> {
    const previous = record.slot === 0 ? '' : await this.#idAt(record.slot - 1)
    const value = encodeRecord(record)
    const outcome = await this.#propose(record.slot, { id: record.id, previous, value })
    if (outcome.kind === 'taken') return outcome.slot
    if (outcome.kind === 'appended') {
      this.#kept.add(record, value.length)
      return undefined
    }
    throw this.lost()
  }

  async read(after: number): Promise<LogPage> {
    let reaches: number | undefined
    for (let looks = 1; ; looks++) {
      const { records, open, isEnd } = await this.#look(after + 1)
      // No node of a majority had anything above this slot, so nothing above it was decided when they were asked.
      reaches ??= open
      if (records.length > 0 || open === undefined) return { records, isEnd, reaches }
      // A server is proposing, or it crashed before it finished.
      if (looks % LOOKS_MAX !== 0) await delay(PAUSE_MS * (1 + Math.random()))
      else if (looks >= LOOKS_IN_ALL || (await this.#propose(open)).kind === 'lost') throw this.lost()
    }
  }

  async last(): Promise<LogRecord | undefined> {
    let { last, slot } = { last: undefined as LogRecord | undefined, slot: (await this.#appliedMost()) - 1 }
    for (let end: number | undefined; ; ) {
      const { records, isEnd, reaches } = await this.read(Math.max(-1, slot))
      last = records.at(-1) ?? last
      slot = last?.slot ?? slot
      end ??= reaches
      if (isEnd || (end !== undefined && slot >= end)) return last
    }
  }

  async changes(
    after: Position,
    limit: number,
    { firstPart, lastSlot }: { readonly firstPart: number; readonly lastSlot: number },
  ): Promise<LogEntry[]> {
    const entries: LogEntry[] = []
    let slot = (await this.partBefore(after, firstPart, this.partOf(lastSlot))) * SLOTS_PER_PART - 1
    while (entries.length < limit && slot < lastSlot) {
      const records = await this.recordsAfter(slot)
      if (records.length === 0) break
      for (const record of records) {
        slot = record.slot
        if (slot <= lastSlot) entries.push(...entriesOf(record).filter(({ position }) => position > after))
      }
    }
    return entries
  }

  partOf(slot: number): number {
    return Math.floor(slot / SLOTS_PER_PART)
  }

  async partBefore(position: Position, firstPart: number, lastPart: number): Promise<number> {
    let [low, high] = [firstPart, lastPart]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const [record] = await this.recordsAfter(middle * SLOTS_PER_PART - 1)
      if (record !== undefined && record.state.position <= position) low = middle
      else high = middle - 1
    }
    return low
  }

  /**
   * Deletes the slots on every node that answers; the other nodes keep slots that no server will ask for. A majority notes that
   * they were dropped, so that a server that slept meanwhile does not take them for free slots.
   */
  async dropPart(part: number): Promise<void> {
    const slots = Array.from({ length: SLOTS_PER_PART }, (_, i) => part * SLOTS_PER_PART + i)
    const deletions = slots.map(slot => ({ key: slotKey(slot), delete: true as const }))
    await this.majority(node => drop(node, deletions, (part + 1) * SLOTS_PER_PART))
  }

  /** Some of the decided records after a slot, from memory if they are there. Empty: the log ends there. */
  async recordsAfter(after: number): Promise<readonly LogRecord[]> {
    const kept = this.#kept.after(after)
    return kept.length > 0 ? kept : (await this.read(after)).records
  }

  /**
   * Finishes what other servers have begun, and returns its ballot: nothing below it can be decided from now on. `next` is
   * free.
   */
  async settle(
    after: number,
  ): Promise<{ readonly ballot: { readonly round: number; readonly proposer: string }; readonly next: number }> {
    return this.#alone(async () => {
      const { kind } = await this.#drive(after + 1)
      const { tenure } = this.#proposer
      if (tenure === undefined) throw new EngineLost(`the log could not be settled (${kind})`, false)
      return tenure
    })
  }

  /** Runs `work` for all nodes. Resolves when it has succeeded for a majority, and throws EngineLost when that is impossible. */
  async majority<Result>(work: (node: QuorumNode) => Promise<Result>): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      const results: Result[] = []
      let failed = 0
      for (const node of this.#nodes) {
        work(node).then(
          result => {
            results.push(result)
            if (results.length === this.voters.majority) resolve([...results])
          },
          () => {
            if (++failed === this.#nodes.length - this.voters.majority + 1) reject(this.lost())
          },
        )
      }
    })
  }

  /** The error that names the nodes that do not answer. */
  lost(): EngineLost {
    const silent = this.#nodes.filter(({ isSilent }) => isSilent)
    const emptied = this.#nodes.filter(({ isEmptied, isSilent }) => isEmptied && !isSilent)
    const parts = [
      ...silent.map(({ place, trouble }) => `${place}: ${trouble instanceof Error ? trouble.message : 'silent'}`),
      ...emptied.map(({ place }) => `${place} has lost its data`),
    ]
    const { majority, nodes } = this.voters
    return new EngineLost(
      `${majority} of ${nodes} nodes are needed; ${parts.join('; ') || 'the nodes did not agree'}`,
      true,
    )
  }

  async #idAt(slot: number): Promise<string> {
    const [record] = await this.recordsAfter(slot - 1)
    if (record === undefined) throw new EngineLost(`slot ${slot} of the log is not known`, false)
    return record.id
  }

  async #look(first: number): Promise<{
    readonly records: readonly LogRecord[]
    readonly open: number | undefined
    readonly isEnd: boolean
  }> {
    const look = new SlotReader<Uint8Array>(first, this.voters)
    const outcome = await drive(look, { asks: look.begin() }, ask => this.#send(ask), GRACE_MS)
    if (outcome.kind === 'lost') throw this.lost()
    if (outcome.kind === 'gone') throw new SlotsGone(first - 1)
    const records = outcome.entries.map(entry => this.#recordOf(entry))
    return outcome.kind === 'seen'
      ? { records, open: undefined, isEnd: outcome.isEnd }
      : { records, open: outcome.slot, isEnd: false }
  }

  #recordOf({ id, value }: Entry<Uint8Array>): LogRecord {
    const record = decodeRecord(id, value)
    this.#kept.add(record, value.length)
    return record
  }

  #propose(slot: number, entry?: Entry<Uint8Array>): Promise<AppendOutcome> {
    return this.#alone(async () => {
      for (let tries = 1; ; tries++) {
        const startMs = performance.now()
        const outcome = await this.#drive(slot, entry)
        if (outcome.kind !== 'outbid' || tries === OUTBID_MAX) return outcome
        // The pause grows with the time of a proposal here: two servers that retry sooner would outbid each other again and
        // again.
        const tookMs = Math.max(PAUSE_MS, performance.now() - startMs)
        await delay(Math.min(PAUSE_MS_MAX, tookMs * Math.min(8, tries)) * Math.random())
      }
    })
  }

  /** Runs proposals one at a time. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#proposing.then(work)
    this.#proposing = done.catch(() => undefined)
    return done
  }

  #drive(slot: number, entry?: Entry<Uint8Array>): Promise<AppendOutcome> {
    const nowMs = performance.now()
    const isPartial = this.#proposer.voices < this.voters.nodes
    if (isPartial && nowMs - this.#surveyedMs > SURVEY_AGAIN_MS && this.#nodes.some(node => this.#isMissing(node))) {
      this.#proposer.giveUp()
    }
    if (this.#proposer.tenure === undefined) this.#surveyedMs = nowMs
    return drive(this.#proposer, this.#proposer.begin(slot, entry), ask => this.#send(ask), SURVEY_GRACE_MS)
  }

  #send(ask: Ask<Uint8Array>): Promise<Reply<Uint8Array>> {
    return this.#nodes[ask.node]!.answer(ask)
  }

  /** The node could vote, but is not asked to. */
  #isMissing(node: QuorumNode): boolean {
    const at = this.#nodes.indexOf(node)
    return !node.isSilent && !node.isEmptied && !this.#proposer.tenure?.promises.has(at)
  }

  /** At least the slot that any server knew to be applied when this was called; -1: none. */
  async #appliedMost(): Promise<number> {
    const views = await this.majority(async node => {
      const view = await node.view(0)
      if (view.promised === undefined) throw new Error(`${node.place} does not belong`)
      return view
    })
    return Math.max(...views.map(({ applied = -1 }) => applied))
  }
}

/** Deletes what is before `slot`. Throws if another server does so at this moment, or if the node has no voice. */
async function drop(node: QuorumNode, deletions: readonly Write[], slot: number): Promise<void> {
  const [voice, first] = await node.read([VOICE, FIRST])
  if (voice === undefined) throw new Error(`${node.place} has no voice.`)
  const isNoted = first !== undefined && (parse(first) as First).slot >= slot
  const note = isNoted ? [] : [jsonWrite(FIRST, { slot } satisfies First)]
  const reads = [{ key: FIRST, version: first?.version ?? NOT_THERE }]
  const position = await node.commit({ reads, writes: [...note, ...deletions] })
  if (position === undefined) throw new Error(`Another server drops slots of ${node.place}.`)
}

/** The latest of the records that were read or appended here. */
class KeptRecords {
  readonly #records = new Map<number, { readonly record: LogRecord; readonly bytes: number }>()
  #bytes = 0

  add(record: LogRecord, bytes: number): void {
    if (this.#records.has(record.slot)) return
    this.#records.set(record.slot, { record, bytes })
    this.#bytes += bytes
    for (const [slot, kept] of this.#records) {
      if (this.#bytes <= KEPT_BYTES_MAX || slot === record.slot) return
      this.#records.delete(slot)
      this.#bytes -= kept.bytes
    }
  }

  /** The consecutive records after a slot. */
  after(slot: number): readonly LogRecord[] {
    const found: LogRecord[] = []
    for (let next = slot + 1; ; next++) {
      const kept = this.#records.get(next)
      if (kept === undefined) return found
      found.push(kept.record)
    }
  }
}
