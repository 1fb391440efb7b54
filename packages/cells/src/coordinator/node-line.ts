/**
 * A coordinator's line to one node: reads records and changes them, one conditional step at a time, and gives up in time.
 *
 * **Fences.** Every change is conditional on the node's layout record (`layout/cells-layout.ts`) having the version that this
 * line has read, and every read also reads that record. So an operation that began under one layout does nothing under the next,
 * and begins again. A node that has lost its data has no layout record: it is not asked for votes that it has forgotten, and its
 * lack of records is not believed.
 */
import type { Key, Version } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { type HealthOptions, NodeHealth } from '../health/index.js'
import { type CellsLayout, encodeLayout, LAYOUT_KEY } from '../layout/cells-layout.js'
import type { Node, NodePage, NodeRange, NodeValue, NodeWrite } from '../nodes/node.js'
import { type CellRecord, EMPTY_RECORD } from '../records/index.js'
import { decodeRecord, encodeRecord, parseObject } from './record-text.js'
import type { Timing } from './timing.js'

/** The layout has changed since the operation began: the operation must begin again. */
export class LayoutChanged extends Error {
  override readonly name = 'LayoutChanged'
}

/** A record as it was read: it is replaced only if it still has this version. */
export interface Seen {
  readonly version: Version
  readonly record: CellRecord
}

/** `isTaken`: false if the change does not apply to the record that is there. */
export interface Changed extends Seen {
  readonly isTaken: boolean
}

/** Keeps the layout that this process goes by. */
export interface LayoutKeeper {
  readonly layout: CellsLayout
  adopt(layout: CellsLayout): void
}

const CONFLICTS_MAX = 20

export class NodeLine {
  readonly name: string
  readonly health: NodeHealth
  readonly #node: Node
  readonly #timing: Timing
  readonly #keeper: LayoutKeeper
  /** The version of the node's layout record, and the epoch of that layout. */
  #fence: { readonly version: Version; readonly epoch: number } | undefined

  constructor(
    name: string,
    node: Node,
    { timing, keeper, health }: { timing: Timing; keeper: LayoutKeeper; health?: HealthOptions | undefined },
  ) {
    this.name = name
    this.#node = node
    this.#timing = timing
    this.#keeper = keeper
    this.health = new NodeHealth(health)
  }

  /** The epoch of the layout that the node knows; undefined if it has not been asked yet. */
  get epoch(): number | undefined {
    return this.#fence?.epoch
  }

  /** Reads under this layout. Throws LayoutChanged if a later one is known by now. */
  async read(key: Key, epoch: number): Promise<Seen> {
    const [value] = await this.#readFenced([key], epoch)
    return value === undefined
      ? { version: 0, record: EMPTY_RECORD }
      : { version: value.version, record: decodeRecord(value.body) }
  }

  /**
   * Replaces the record with what `next` returns for it; undefined leaves it as it is. `known` is the record as last seen: if it
   * has not changed since, it need not be read.
   */
  async change(
    key: Key,
    epoch: number,
    next: (record: CellRecord) => CellRecord | undefined,
    known?: Seen,
  ): Promise<Changed> {
    let seen = known ?? (await this.read(key, epoch))
    for (let conflicts = 0; ; conflicts++) {
      const record = next(seen.record)
      if (record === undefined && seen === known) {
        seen = await this.read(key, epoch)
        continue
      }
      if (record === undefined) return { ...seen, isTaken: false }
      if (record === seen.record) return { ...seen, isTaken: true }
      const version = await this.replace({ key, body: encodeRecord(record) }, seen.version, epoch)
      if (version !== undefined) return { version, record, isTaken: true }
      if (conflicts === CONFLICTS_MAX) throw new Error(`${key} on node ${this.name} keeps changing.`)
      seen = await this.read(key, epoch)
    }
  }

  /** Writes any record, not only cells. Returns undefined if the record has another version. */
  async replace(write: NodeWrite, version: Version, epoch: number): Promise<Version | undefined> {
    const fence = await this.#fenceOf(epoch)
    return this.ask(node =>
      node.write(write, [
        { key: write.key, version },
        { key: LAYOUT_KEY, version: fence },
      ]),
    )
  }

  async readAny(key: Key, epoch: number): Promise<NodeValue | undefined> {
    return (await this.#readFenced([key], epoch))[0]
  }

  /** A page of a bucket, as the node has it. */
  async scan(bucket: Key, range: NodeRange, epoch: number): Promise<NodePage> {
    const page = await this.ask(node => node.scan(bucket, range))
    // Checked after the scan, so that a node that lost its data before is detected.
    await this.#readFenced([], epoch)
    return page
  }

  buckets(): Promise<readonly Key[]> {
    return this.ask(node => node.buckets())
  }

  /** The layout that the node has, whichever it is; undefined if it has none. */
  async readLayout(): Promise<(NodeValue & { readonly layout: CellsLayout }) | undefined> {
    const [value] = await this.ask(node => node.read([LAYOUT_KEY]))
    return value && { ...value, layout: parseObject(value.body) as CellsLayout }
  }

  /** Makes sure that the node has this layout: one with an older layout gets this one. Fails if it has none, or a later one. */
  async check(epoch: number): Promise<void> {
    await this.#readFenced([], epoch)
  }

  /** Gives the node this layout if its layout record still has that version; version 0: if it has no such record. */
  async install(layout: CellsLayout, version: Version): Promise<boolean> {
    const write = { key: LAYOUT_KEY, body: encodeLayout(layout) }
    const installed = await this.ask(node => node.write(write, [{ key: LAYOUT_KEY, version }]))
    if (installed !== undefined) this.#fence = { version: installed, epoch: layout.epoch }
    return installed !== undefined
  }

  /** Fails if there is no answer in time, or if the node is suspected and should not be asked now. */
  async ask<Answer>(call: (node: Node) => Promise<Answer>): Promise<Answer> {
    const askedMs = this.#timing.nowMs()
    if (!this.health.mayAsk(askedMs)) throw this.#silent('it has not answered recently')
    const { timeoutMs } = this.health
    let callOff = () => {}
    const silence = new Promise<never>((_, reject) => {
      const late = () => reject(this.#silent(`it did not answer within ${Math.round(timeoutMs)} ms`))
      callOff = this.#timing.after(timeoutMs, late)
    })
    try {
      const answer = await Promise.race([call(this.#node), silence])
      this.health.answered(this.#timing.nowMs() - askedMs)
      return answer
    } catch (error) {
      if (isRefusal(error)) this.health.trusted()
      else this.health.failed(this.#timing.nowMs())
      throw error
    } finally {
      callOff()
    }
  }

  close(): Promise<void> {
    return this.#node.close()
  }

  async #readFenced(keys: readonly Key[], epoch: number): Promise<readonly (NodeValue | undefined)[]> {
    for (;;) {
      const values = await this.ask(node => node.read([...keys, LAYOUT_KEY]))
      if (await this.#isFenced(values.at(-1), epoch)) return values.slice(0, -1)
    }
  }

  async #fenceOf(epoch: number): Promise<Version> {
    // Checked again after each wait: another request may have found a later layout meanwhile.
    while (this.#fence?.epoch !== epoch) await this.#readFenced([], epoch)
    return this.#fence.version
  }

  /**
   * Whether the node has this layout. A node with an older layout gets this one; a later layout is adopted, and nothing else
   * done.
   */
  async #isFenced(value: NodeValue | undefined, epoch: number): Promise<boolean> {
    if (value === undefined) throw this.#forgotten()
    if (value.version !== this.#fence?.version) {
      const layout = parseObject(value.body) as CellsLayout
      if (layout.secret !== this.#keeper.layout.secret) throw this.#foreign()
      this.#fence = { version: value.version, epoch: layout.epoch }
      this.#keeper.adopt(layout)
    }
    const { layout } = this.#keeper
    if (layout.epoch !== epoch) throw new LayoutChanged()
    if (this.#fence.epoch === epoch) return true
    await this.install(layout, value.version)
    return false
  }

  #silent(why: string): FreshetError {
    return new FreshetError('RING_UNAVAILABLE', `Node ${this.name} of the ring is unavailable: ${why}.`)
  }

  #foreign(): FreshetError {
    return new FreshetError(
      'RING_UNUSABLE',
      `Node ${this.name} belongs to another ring than the other nodes. ` +
        'Check its address; a node of one ring must be emptied before it can join another.',
    )
  }

  #forgotten(): FreshetError {
    return new FreshetError(
      'RING_UNUSABLE',
      `Node ${this.name} no longer knows the ring: it has lost its data, or is another node. ` +
        'Remove it with freshet ring leave --lost, empty it, and join it under another name.',
    )
  }
}

/** A node that refuses, for lack of space, say, has answered. */
function isRefusal(error: unknown): boolean {
  return error instanceof FreshetError && error.code !== 'STORE_UNAVAILABLE' && error.code !== 'RING_UNAVAILABLE'
}
