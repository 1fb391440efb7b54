/**
 * Hinted handoff: a write that did not reach a replica is kept for it on another node, and delivered when the replica is back. A
 * hint is durable, because it lies on a node; it outlives the coordinator that left it, and any other may deliver it. For each
 * key and node only the latest hint is kept. The number of hints for a node is limited, because a node that stays away for long
 * is better repaired.
 *
 * Hints make replicas equal sooner. No write that was acknowledged at QUORUM depends on them.
 */
import { createHash } from 'node:crypto'
import type { Key } from '@freshet/core/store'
import { hintsBucket } from '../layout/cells-layout.js'
import { type Cell, compareStamps, copied, type Stamp } from '../records/index.js'
import { gather } from './gather.js'
import type { LayoutView } from './layout-view.js'
import type { NodeLine } from './node-line.js'
import {
  parseObject,
  readStamp,
  readValue,
  type StampText,
  stampText,
  type ValueText,
  valueText,
} from './record-text.js'

interface HintText extends ValueText {
  readonly key: Key
  readonly stamp: StampText
}

export interface Hint extends Cell {
  readonly key: Key
}

export interface DeliveryReport {
  readonly delivered: number
  readonly left: number
}

/** One pass over all hints. */
interface Delivery {
  readonly view: LayoutView
  readonly isOver: () => boolean
  /** How many hints could not be delivered, by the node that they are for. */
  readonly waiting: Map<string, number>
  /** Nodes that did not answer. */
  readonly away: Set<string>
  delivered: number
}

const PAGE = 100
const STAMPS_MAX = 1000

export class Hints {
  readonly #countMax: number
  /** How many hints wait for each node, as far as is known. */
  readonly #counts = new Map<string, number>()
  /** Nodes that are away and whose hints have been counted since: other coordinators have left some too. */
  readonly #counted = new Set<string>()
  /** The stamps of the last hints, by key: if no replica of a key answers, the stamp of its next hint continues from here. */
  readonly #stamps = new Map<Key, Stamp>()

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  lastStampOf(key: Key): Stamp | undefined {
    return this.#stamps.get(key)
  }

  countFor(node: string): number {
    return this.#counts.get(node) ?? 0
  }

  /** Keeps a hint on any other node that takes it. Returns false if none did, or there are too many hints. */
  async keep(target: string, key: Key, cell: Cell, view: LayoutView): Promise<boolean> {
    if (this.countFor(target) >= this.#countMax) return false
    const replicas = new Set(view.linesOf(key).map(({ name }) => name))
    // Not on a node that is about to leave: its hints have been moved already.
    const others = view.linesNamed(view.layout.nodes.map(({ name }) => name)).filter(({ name }) => name !== target)
    // Nodes that do not have the cell anyway come first.
    const inOrder = [...others].sort((a, b) => Number(replicas.has(a.name)) - Number(replicas.has(b.name)))
    for (const line of inOrder) {
      if (line.health.isSuspected) continue
      try {
        await putHint(line, target, { key, ...cell }, view.epoch)
        this.#counts.set(target, this.countFor(target) + 1)
        this.#note(key, cell.stamp)
        return true
      } catch {
        // The next node is tried.
      }
    }
    return false
  }

  /**
   * Delivers hints to the nodes that they are for. Returns how many were delivered, and how many are left, as far as is known. A
   * node that is still away is asked once, if it is time to; its hints are counted once and then not read until it is back.
   */
  async deliver(view: LayoutView, isOver: () => boolean = () => false): Promise<DeliveryReport> {
    await probe(view)
    const pass: Delivery = { view, isOver, waiting: new Map(), away: new Set(), delivered: 0 }
    for (const line of view.allLines()) {
      for (const target of await targetsOn(line)) await this.#deliverFrom(line, target, pass)
    }
    for (const target of pass.away) await this.#count(target, view)
    for (const { name } of view.allLines()) {
      if (pass.away.has(name)) continue
      this.#counted.delete(name)
      this.#counts.set(name, pass.waiting.get(name) ?? 0)
    }
    const counts = [...pass.waiting.values(), ...[...pass.away].map(name => this.countFor(name))]
    return { delivered: pass.delivered, left: counts.reduce((sum, count) => sum + count, 0) }
  }

  async #deliverFrom(line: NodeLine, target: string, pass: Delivery): Promise<void> {
    const { view, isOver, waiting, away } = pass
    // Hints for a node that has left go to the nodes that have its keys now.
    const member = view.allLines().find(({ name }) => name === target)
    if (member?.health.isSuspected === true) away.add(target)
    if (away.has(target) || isOver()) return
    for await (const { hint, id, version } of hintsOn(line, target, view.epoch)) {
      if (isOver()) return
      if (await this.#deliverOne(hint, target, view)) {
        await line.replace({ key: `${hintsBucket(target)}/${id}`, body: undefined }, version, view.epoch)
        pass.delivered++
      } else if (view.linesOf(hint.key).some(({ name }) => name === target)) {
        away.add(target)
        waiting.delete(target)
        return
      } else waiting.set(target, (waiting.get(target) ?? 0) + 1)
    }
  }

  async #count(target: string, view: LayoutView): Promise<void> {
    if (this.#counted.has(target)) return
    const counts = await this.countsOn(view.allLines(), view, [target])
    this.#counted.add(target)
    this.#counts.set(target, counts.get(target) ?? 0)
  }

  /** The keys of all hints on these nodes, whichever node they are for. Fails if a node does not answer. */
  async keysWaiting(view: LayoutView): Promise<ReadonlySet<Key>> {
    const keys = new Set<Key>()
    for (const line of view.allLines()) {
      for (const target of targetsIn(await line.buckets())) {
        for await (const { hint } of hintsOn(line, target, view.epoch, 'all')) keys.add(hint.key)
      }
    }
    return keys
  }

  /** How many hints lie on these nodes, by the node that they wait for. */
  async countsOn(
    lines: readonly NodeLine[],
    view: LayoutView,
    of?: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>()
    for (const line of lines) {
      for (const target of of ?? (await targetsOn(line))) {
        for await (const _ of hintsOn(line, target, view.epoch)) counts.set(target, (counts.get(target) ?? 0) + 1)
      }
    }
    return counts
  }

  /** Moves the hints on this node to other nodes, because it leaves. */
  async moveFrom(line: NodeLine, others: readonly NodeLine[], view: LayoutView): Promise<void> {
    for (const target of targetsIn(await line.buckets())) {
      for await (const { hint } of hintsOn(line, target, view.epoch, 'all')) {
        const place = others.find(({ name }) => name !== target)
        if (place !== undefined) await putHint(place, target, hint, view.epoch)
      }
    }
  }

  /** Delivers a hint to the node it is for; if that node no longer has the key, to the nodes that have it. */
  async #deliverOne(hint: Hint, target: string, view: LayoutView): Promise<boolean> {
    const lines = view.linesOf(hint.key)
    const own = lines.filter(({ name }) => name === target)
    const to = own.length > 0 ? own : lines
    if (to.some(({ health }) => health.isSuspected)) return false
    const result = await gather(
      to,
      line => line.change(hint.key, view.epoch, record => copied(record, hint) ?? record),
      answers => answers.size === to.length,
    )
    return result.isEnough
  }

  #note(key: Key, stamp: Stamp): void {
    const before = this.#stamps.get(key)
    this.#stamps.delete(key)
    this.#stamps.set(key, before !== undefined && compareStamps(before, stamp) > 0 ? before : stamp)
    const oldest = this.#stamps.size > STAMPS_MAX ? this.#stamps.keys().next().value : undefined
    if (oldest !== undefined) this.#stamps.delete(oldest)
  }
}

/** Asks the suspected nodes: no other request may be reaching them. */
async function probe(view: LayoutView): Promise<void> {
  const suspected = view.allLines().filter(({ health }) => health.isSuspected)
  await Promise.allSettled(suspected.map(line => line.check(view.epoch)))
}

async function putHint(line: NodeLine, target: string, hint: Hint, epoch: number): Promise<void> {
  const key = `${hintsBucket(target)}/${hintId(hint.key)}`
  for (;;) {
    const seen = await line.readAny(key, epoch)
    if (seen !== undefined && compareStamps(decodeHint(seen.body).stamp, hint.stamp) >= 0) return
    const version = await line.replace({ key, body: encodeHint(hint) }, seen?.version ?? 0, epoch)
    if (version !== undefined) return
  }
}

interface FoundHint {
  readonly hint: Hint
  readonly id: string
  readonly version: number
}

/** The nodes for which this node has, or had, hints; empty if it cannot be asked now. */
async function targetsOn(line: NodeLine): Promise<readonly string[]> {
  if (line.health.isSuspected) return []
  return targetsIn(await line.buckets().catch(() => []))
}

function targetsIn(buckets: readonly Key[]): readonly string[] {
  const prefix = hintsBucket('')
  return buckets.filter(bucket => bucket.startsWith(prefix)).map(bucket => bucket.slice(prefix.length))
}

/** Unless all hints are wanted, a node that cannot be asked counts as having none. */
async function* hintsOn(
  line: NodeLine,
  target: string,
  epoch: number,
  which: 'all' | 'reachable' = 'reachable',
): AsyncGenerator<FoundHint> {
  if (which === 'reachable' && line.health.isSuspected) return
  let after: string | undefined
  do {
    const range = after === undefined ? { limit: PAGE } : { after, limit: PAGE }
    const page = await line.scan(hintsBucket(target), range, epoch).catch(error => {
      if (which === 'all') throw error
      return { entries: [], next: undefined }
    })
    for (const { id, version, body } of page.entries) yield { hint: decodeHint(body), id, version }
    after = page.next
  } while (after !== undefined)
}

/** Keys are longer than ids may be, and have slashes. */
function hintId(key: Key): string {
  return createHash('sha256').update(key).digest('base64url')
}

function encodeHint({ key, stamp, value }: Hint): Uint8Array {
  const text: HintText = { key, stamp: stampText(stamp), ...(value === undefined ? {} : valueText(value)) }
  return Buffer.from(JSON.stringify(text))
}

function decodeHint(body: Uint8Array): Hint {
  const text = parseObject(body) as HintText
  return { key: text.key, stamp: readStamp(text.stamp)!, value: readValue(text) }
}
