/**
 * One schedule of everything that can go wrong with a replicated store, drawn from a seed. Coordinators read and write a few keys
 * at all levels while messages are lost, late, doubled and out of order, clocks run wrong, the network is partitioned, nodes and
 * coordinators crash, sleep and come back, nodes join and leave, hints are delivered, replicas repaired and tombstones collected.
 * `cells-truth.ts` has the invariants.
 */

import {
  type Cells,
  type CellsLayout,
  type CellsOptions,
  collectTombstones,
  joinCells,
  leaveCells,
  type Node,
  openCells,
  repair,
} from '@freshet/cells'
import {
  type CellValue,
  READ_LEVELS,
  type ReadLevel,
  type Stamp,
  WRITE_LEVELS,
  type WriteLevel,
} from '@freshet/cells/records'
import { bucketOfKey, idOfKey } from '@freshet/protocol'
import { drawClockRate } from '../simulator/clock-error.js'
import { NO_RATES } from '../simulator/network.js'
import { Schedule, type ScheduleResult, type ScheduleSettings } from '../simulator/schedule.js'
import { CellsTruth } from './cells-truth.js'
import { collectEarly, type PlantedBug, plant } from './planted-bugs.js'
import { notAnswered, SimulatedNetwork } from './simulated-network.js'
import { SimulatedEngine, textOf } from './simulated-node.js'

const COUNTED = {
  counts: ['acknowledged', 'unknown', 'refused', 'reads', 'currentReads', 'collected', 'lateReads', 'lateCurrentReads'],
  faults: ['join', 'leave', 'node crash', 'coordinator crash', 'power cut', 'sleep'],
} as const

const DRIFT_MAX = 0.02
const PROMISE_MS = 400
const KEYS = ['t/b/a', 't/b/b']
const OPERATIONS = 50
const ASK_MS_MAX = 600

interface Coordinator {
  readonly name: string
  cells: Cells | undefined
  life: number
}

/** `lateReads`: reads at CURRENT after the faults have ended; `lateCurrentReads`: those of them that were current. */
export function runSchedule(settings: ScheduleSettings<PlantedBug>): Promise<ScheduleResult<typeof COUNTED>> {
  return new CellsSchedule(settings).run()
}

class CellsSchedule extends Schedule<string, typeof COUNTED> {
  readonly #bug: PlantedBug | undefined
  readonly #calls: SimulatedNetwork
  readonly #engines = new Map<string, SimulatedEngine>()
  readonly #down = new Set<string>()
  readonly #lost = new Set<string>()
  readonly #coordinators: Coordinator[]
  readonly #truth = new CellsTruth(what => this.violate(what))
  readonly #asksOthers: boolean
  #written = 0
  /** The last layout without a change under way, and how often its set of nodes changed. */
  #epoch = 0
  #names: string | undefined
  #changes = 0
  #nextNode: number

  constructor({ seed, bug }: ScheduleSettings<PlantedBug>) {
    super({
      ...{ seed, counted: COUNTED, troubleMs: 6000, calmMs: 20_000 },
      ...{ delayMsMax: 15, lateMsMax: 3000, doubledMsMax: 2000 },
      ratesMax: { lost: 0.08, late: 0.06, doubled: 0.05 },
    })
    this.#bug = bug
    this.#calls = new SimulatedNetwork(this.queue, this.network)
    const nodes = 3 + this.random.below(2)
    for (let i = 1; i <= nodes; i++) this.#addNode(`n${i}`)
    this.#nextNode = nodes + 1
    this.#asksOthers = this.random.float() < 0.7
    const coordinators = 2 + this.random.below(2)
    this.#coordinators = Array.from({ length: coordinators }, (_, i) => ({
      ...{ name: `c${i + 1}`, cells: undefined, life: 0 },
    }))
  }

  #addNode(name: string): void {
    const engine = new SimulatedEngine((key, body) => {
      const { stamp, type } = JSON.parse(Buffer.from(body).toString()) as { stamp?: number[]; type?: string }
      if (!KEYS.includes(key) || stamp === undefined || type !== undefined) return
      const [tenure, count, aside, writer] = stamp as [number, number, number, number]
      this.#truth.dropped(key, { tenure, count, aside, writer })
    })
    this.#engines.set(name, engine)
  }

  async run(): Promise<ScheduleResult<typeof COUNTED>> {
    const { rates } = this.network
    this.network.rates = NO_RATES
    for (const coordinator of this.#coordinators) await this.#settle(this.#open(coordinator))
    this.network.rates = rates
    const begin = (action: () => Promise<void>) => () => {
      action().catch(error => this.#failed(error))
    }
    this.plan(
      OPERATIONS,
      begin(() => this.#operate()),
    )
    this.plan(
      1 + this.random.below(7),
      begin(() => this.#harm()),
    )
    this.plan(
      this.random.below(8),
      begin(() => this.#tend()),
    )
    await this.#calls.runFor(this.troubleMs)
    await this.#calm()
    return this.result
  }

  /** A refusal is a valid outcome; any other error is a bug. */
  #failed(error: unknown): void {
    const code = (error as { code?: string }).code
    if (code !== 'RING_UNAVAILABLE' && code !== 'RING_UNUSABLE') this.violate(`failed: ${error}`)
  }

  /** Lets time pass until the work is done. */
  async #settle<Result>(work: Promise<Result>): Promise<Result | undefined> {
    let [isOver, result] = [false, undefined as Result | undefined]
    work
      .then(done => {
        result = done
      })
      .catch(error => this.#failed(error))
      .finally(() => {
        isOver = true
      })
    await this.#calls.runFor(this.calmMs, () => isOver)
    if (!isOver) this.violate('an operation did not end')
    return result
  }

  /** Ends the faults, delivers and repairs what is outstanding, and checks the final state. */
  async #calm(): Promise<void> {
    this.network.heal()
    this.#down.clear()
    await this.#calls.runFor(3000)
    for (const coordinator of this.#coordinators) if (!coordinator.cells) await this.#settle(this.#open(coordinator))
    const { cells } = this.#coordinators[0]!
    if (cells === undefined) return
    for (const key of KEYS) {
      this.counts.lateReads++
      const read = await this.#settle(this.#read(this.#coordinators[0]!, key, 'CURRENT'))
      if (read === true) this.counts.lateCurrentReads++
    }
    for (const name of this.#lostIn(cells)) await this.#settle(leaveCells(cells, name, { isLost: true }))
    await this.#settle(cells.deliverHints())
    await this.#settle(repair(cells))
    // Without all of its nodes a layout cannot be repaired.
    if (this.#lostIn(cells).length === 0) {
      for (const key of KEYS) this.#truth.ended(key, await this.#stampsOf(cells, key))
    }
    if (this.random.float() < 0.6) await this.#clear(cells)
    if (this.random.float() < 0.5) await this.#settle(this.random.float() < 0.2 ? this.#join() : this.#leave())
    for (const key of KEYS) await this.#settle(this.#read(this.random.pick(this.#coordinators), key, 'QUORUM'))
    await this.#settle(this.#scan(this.random.pick(this.#coordinators)))
  }

  #lostIn({ layout: { nodes, before = [] } }: Cells): readonly string[] {
    return [...this.#lost].filter(name => [...nodes, ...before].some(node => node.name === name))
  }

  /** Often deletes everything before tombstones are collected: then nothing may come back, whatever happens to the layout. */
  async #clear(cells: Cells): Promise<void> {
    if (this.random.float() < 0.7) {
      for (const key of KEYS)
        await this.#settle(this.#counted(cells.write(key, undefined, 'ALL'), key, undefined, 'ALL'))
    }
    await this.#settle(this.#collect(cells))
  }

  async #stampsOf(cells: Cells, key: string): Promise<readonly Stamp[]> {
    const lines = cells.view.linesOf(key)
    const seen = await this.#settle(Promise.all(lines.map(line => line.read(key, cells.view.epoch))))
    return (seen ?? []).map(({ record }) => record.stamp)
  }

  async #open(coordinator: Coordinator): Promise<void> {
    // Another attempt has opened it meanwhile.
    if (coordinator.cells !== undefined) return
    const life = ++coordinator.life
    const self = `${coordinator.name} ${life}`
    const isOver = () => coordinator.life !== life
    const random = this.random.fork(self)
    const rate = drawClockRate(random, DRIFT_MAX)
    const openNode = ({ name }: { readonly name: string }) => this.#nodeFor(coordinator.name, name)
    const options: CellsOptions = {
      nodes: [...this.#engines.keys()].map(name => ({ name, node: openNode({ name }) })),
      ...{ openNode, self, random: () => random.float(), repairShare: 0.3, hintsEveryMs: 1500, hintsMax: 50 },
      timing: this.#calls.clock({ name: coordinator.name, offsetMs: random.below(1e9), rate, isOver }),
      tenures: { promiseMs: PROMISE_MS, driftMax: DRIFT_MAX, claimMsMax: 1500 },
      health: { timeoutMsMin: 40, timeoutMsMax: 150, failuresMax: 3, probeMs: 100, probeMsMax: 400 },
      ...(this.#asksOthers ? { others: this.#others(coordinator.name) } : {}),
    }
    const cells = await openCells(options)
    if (isOver()) return
    this.#watch(cells)
    if (this.#bug !== undefined) plant(this.#bug, cells)
    coordinator.cells = cells
    if (this.#names === undefined) this.#noteSettled(cells.layout)
  }

  #watch(cells: Cells): void {
    const { tenures } = cells
    const adopt = cells.adopt.bind(cells)
    cells.adopt = layout => {
      // The coordinator that decides on a layout adopts it first, before any node has it.
      if (layout.before === undefined && layout.epoch > this.#epoch) this.#noteSettled(layout)
      adopt(layout)
    }
    const give = tenures.give.bind(tenures)
    tenures.give = held => {
      const stamp = give(held)
      this.#truth.given(held.key, stamp)
      return stamp
    }
  }

  #noteSettled({ epoch, nodes }: CellsLayout): void {
    const names = nodes.map(({ name }) => name).join()
    if (this.#names !== undefined && names !== this.#names) this.#changes++
    this.#names = names
    this.#epoch = epoch
  }

  #nodeFor(from: string, name: string): Node {
    const ask = <Answer>(answer: (engine: SimulatedEngine) => Answer): Promise<Answer> =>
      this.#calls.call(from, name, () => {
        // The node is down: no answer.
        if (this.#down.has(name) || this.#lost.has(name)) return new Promise<Answer>(() => {})
        return answer(this.#engines.get(name)!)
      })
    return {
      read: keys => ask(engine => engine.read(keys)),
      write: (write, holds) => ask(engine => engine.write(write, holds)),
      scan: (bucket, range) => ask(engine => engine.scan(bucket, range)),
      buckets: () => ask(engine => engine.buckets()),
      close: async () => {},
    }
  }

  #others(from: string): NonNullable<CellsOptions['others']> {
    const silentUntilMs = new Map<string, number>()
    const ask = async <Answer>(holder: string, answer: (cells: Cells) => Promise<Answer>): Promise<Answer> => {
      const name = holder.split(' ')[0]!
      let hasArrived = false
      const asked = this.#calls.call(from, name, () => {
        const cells = this.#coordinators.find(each => each.name === name)?.cells
        // Coordinators call each other over connections, which duplicate nothing: a write is not repeated.
        const isHeard = cells?.tenures.self === holder && !hasArrived
        hasArrived = true
        return isHeard ? answer(cells) : new Promise<Answer>(() => {})
      })
      const late = new Promise<never>((_, reject) => {
        this.queue.after(ASK_MS_MAX, () => this.#calls.sleepOf(from).whenOver(() => reject(notAnswered(holder))))
      })
      try {
        return await Promise.race([asked, late])
      } catch (error) {
        silentUntilMs.set(holder, this.queue.nowMs + 1000)
        throw error
      }
    }
    return {
      canAsk: holder => (silentUntilMs.get(holder) ?? 0) <= this.queue.nowMs,
      coordinators: () => [],
      last: (holder, key, epoch) => ask(holder, cells => cells.lastHere(key, epoch)),
      read: (holder, key) => ask(holder, cells => cells.readHere(key)),
      write: (holder, key, value, level) => ask(holder, cells => cells.writeHere(key, value, level)),
    }
  }

  async #operate(): Promise<void> {
    const coordinator = await this.#someAwake()
    const key = this.random.float() < 0.8 ? KEYS[0]! : KEYS[1]!
    const what = this.random.float()
    if (what < 0.4) await this.#write(coordinator, key)
    else if (what < 0.48) await this.#update(coordinator, key)
    else if (what < 0.54) await this.#scan(coordinator)
    else await this.#read(coordinator, key, this.random.float() < 0.5 ? 'CURRENT' : this.random.pick(READ_LEVELS))
  }

  /** A coordinator that sleeps acts when it wakes. */
  async #someAwake(): Promise<Coordinator> {
    const coordinator = this.random.pick(this.#coordinators)
    const sleep = this.#calls.sleepOf(coordinator.name)
    if (sleep.isNow) await new Promise<void>(resolve => sleep.whenOver(resolve))
    return coordinator
  }

  async #write({ cells }: Coordinator, key: string): Promise<void> {
    if (cells === undefined) return
    const level: WriteLevel = this.random.float() < 0.5 ? 'QUORUM' : this.random.pick(WRITE_LEVELS)
    const text = this.random.float() < 0.3 ? undefined : `${++this.#written}`
    const value = text === undefined ? undefined : { contentType: 'text/plain', body: Buffer.from(text) }
    const changes = this.#changes
    const { stamp } = await this.#counted(cells.write(key, value, level), key, text, level)
    const { epoch } = cells.layout
    if (level === 'ALL' && changes === this.#changes)
      this.#truth.writtenEverywhere(key, { stamp, change: changes, epoch })
  }

  /** The value given to an update is not older than the latest value when the update began. */
  async #update({ cells }: Coordinator, key: string): Promise<void> {
    if (cells === undefined) return
    const check = this.#truth.updating(key)
    const text = `${++this.#written}`
    const next = (value: CellValue | undefined) => {
      check(textOf(value))
      return { contentType: 'text/plain', body: Buffer.from(text) }
    }
    await this.#counted(cells.update(key, next), key, text, 'QUORUM')
  }

  async #counted<Result extends { readonly stamp: Stamp }>(
    write: Promise<Result>,
    key: string,
    text: string | undefined,
    level: WriteLevel,
  ): Promise<Result> {
    const ended = this.#truth.writing(key, text)
    const lost = this.#lost.size
    try {
      const result = await write
      this.counts.acknowledged++
      const isStrong = level === 'QUORUM' || level === 'ALL'
      this.#truth.written(key, result.stamp, text, { isStrong, mayBeLost: !isStrong && lost !== this.#lost.size })
      ended(false)
      return result
    } catch (error) {
      const isUnknown = (error as { details?: { outcome?: string } }).details?.outcome === 'unknown'
      this.counts[isUnknown ? 'unknown' : 'refused']++
      ended(isUnknown)
      throw error
    }
  }

  async #scan({ cells }: Coordinator): Promise<void> {
    if (cells === undefined) return
    const level = this.random.pick(['QUORUM', 'ALL'] as const)
    const checks = new Map(KEYS.map(key => [key, this.#truth.scanning(key)]))
    const { entries } = await cells.scan(bucketOfKey(KEYS[0]!), {}, level)
    this.counts.reads++
    for (const [key, check] of checks) {
      const found = entries.find(({ id }) => id === idOfKey(key))
      check(found && { stamp: found.stamp, value: textOf(found)! })
    }
  }

  /** Returns whether the read was reported as current. */
  async #read({ cells }: Coordinator, key: string, level: ReadLevel): Promise<boolean> {
    if (cells === undefined) return false
    const check = this.#truth.reading(key, level)
    const checkOne = level === 'ONE' ? this.#truth.readingOne(key, cells.layout.epoch) : undefined
    const { stamp, value, isCurrent } = await cells.read(key, level)
    this.counts.reads++
    if (isCurrent) this.counts.currentReads++
    check(stamp, textOf(value), isCurrent)
    checkOne?.(stamp, this.#changes)
    return isCurrent
  }

  async #tend(): Promise<void> {
    const { cells } = await this.#someAwake()
    if (cells === undefined) return
    const what = this.random.float()
    if (what < 0.3) await repair(cells)
    else if (what < 0.8) await this.#collect(cells)
    else await cells.deliverHints()
  }

  async #collect(cells: Cells): Promise<void> {
    if (this.#bug === 'early collection') return collectEarly(cells, KEYS)
    const { collected } = await collectTombstones(cells)
    this.counts.collected += collected
  }

  async #harm(): Promise<void> {
    const what = this.random.float()
    // This bug shows only if, of all coordinators, the holder has slept, and most nodes have crashed.
    if (this.#bug === 'sleeping clock' && what > 0.4) this.#sleep()
    else if (what < (this.#bug === 'forgetful node' ? 0.6 : 0.08)) this.#cutPower()
    else if (what < 0.4) this.#split()
    else if (what < 0.55) this.#crashNode()
    else if (what < 0.65) this.#crashCoordinator()
    else if (what < 0.77) this.#sleep()
    else if (what < 0.9) await this.#join()
    else await this.#leave()
  }

  #split(): void {
    const nodes = [...this.#engines.keys()]
    const names = this.#coordinators.map(({ name }) => name)
    // Often one coordinator alone with one node: it continues, and does not know what it misses.
    const isAlone = this.random.float() < 0.6
    const some = [...nodes, ...names].filter(() => this.random.float() < 0.5)
    const side = new Set(isAlone ? [this.random.pick(nodes), this.random.pick(names)] : some)
    this.network.partition((from, to) => side.has(from) !== side.has(to), 300 + this.random.below(3000))
  }

  /** Stops most nodes at once. */
  #cutPower(): void {
    this.faults['power cut']++
    for (const name of this.#engines.keys()) if (this.random.float() < 0.8) this.#stopNode(name)
  }

  #crashNode(): void {
    this.faults['node crash']++
    this.#stopNode(this.random.pick([...this.#engines.keys()]))
  }

  #stopNode(name: string): void {
    this.#down.add(name)
    if (this.#bug === 'forgetful node') this.#engines.get(name)!.forgetVotes()
    this.queue.after(100 + this.random.below(3000), () => this.#down.delete(name))
  }

  #crashCoordinator(): void {
    this.faults['coordinator crash']++
    const coordinator = this.random.pick(this.#coordinators)
    coordinator.life++
    coordinator.cells = undefined
    const reopen = () => this.#open(coordinator).catch(() => this.queue.after(300, reopen))
    this.queue.after(50 + this.random.below(1500), reopen)
  }

  /** The machine is suspended: the coordinator stops in the middle of its work, and so does its clock. */
  #sleep(): void {
    this.faults.sleep++
    // Then writes do not reach all replicas meanwhile.
    if (this.random.float() < 0.5) this.#crashNode()
    const sleep = this.#calls.sleepOf(this.random.pick(this.#coordinators).name)
    const ms = 300 + this.random.below(2000)
    if (!sleep.isNow) sleep.begin(ms)
  }

  async #join(): Promise<void> {
    const { cells } = await this.#someAwake()
    if (cells === undefined || this.#engines.size >= 6) return
    this.faults.join++
    // A node that is away keeps what no longer belongs to it.
    if (this.random.float() < 0.4) this.#crashNode()
    const name = `n${this.#nextNode++}`
    this.#addNode(name)
    await joinCells(cells, { name, address: '', rack: 'rack', dataCentre: 'here' })
  }

  async #leave(): Promise<void> {
    const { cells } = await this.#someAwake()
    if (cells === undefined || cells.layout.nodes.length <= 3) return
    this.faults.leave++
    const { name } = this.random.pick(cells.layout.nodes)
    // Then the node does not come back, and what only that node has is not expected.
    const isLost = this.#down.has(name) && this.random.float() < 0.5
    if (isLost) this.#lost.add(name)
    if (isLost) this.#truth.lose()
    await leaveCells(cells, name, { isLost })
  }
}
