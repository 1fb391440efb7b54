/**
 * Random histories in which every promise is kept: sessions over a linearisable store, in several processes whose clocks
 * differ, drift, and know the server's only roughly. Each record comes with its true times, so that an oracle can judge
 * it naively.
 */
import type { HistoryRecord, ReadRecord, WriteRecord } from '../record.js'
import { nameOfToken } from '../recorded-name.js'

/** A record, and when it truly happened, in microseconds of the server's clock. */
export interface TrueRecord<Kind extends HistoryRecord = HistoryRecord> {
  record: Kind
  readonly beganUs: number
  readonly endedUs: number
}

export interface ModelOptions {
  readonly random: () => number
  readonly clocks: number
  readonly sessions: number
  readonly paths: number
  readonly steps: number
  readonly serverRecords: boolean
}

export interface ModelHistory {
  readonly records: TrueRecord[]
  /** The session that each session continues, and since when. */
  readonly parents: ReadonlyMap<string, { readonly session: string; readonly atUs: number }>
  /** No two clocks are further in doubt than this. */
  readonly doubtUsMax: number
  /** Every clock has samples on either side of what happened until then. */
  readonly placedUntilUs: number
}

interface Commit {
  readonly position: number
  readonly path: string
  readonly isDelete: boolean
  readonly visibleUs: number
  ackUs: number
}

interface ModelSession {
  readonly name: string
  readonly clock: number
  position: number
  readonly floors: Map<string, { readonly state: number; readonly endedUs: number }[]>
  readonly inherited: Map<string, number>
}

const LOG = 'log'
const BUCKET_STEPS = [0, 20, 500, 5000]
const SAMPLE_US = 1_000_000
const ROUND_TRIP_US_MAX = 20_000
const DRIFT = 0.0002

export function createModelHistory(options: ModelOptions): ModelHistory {
  return new Model(options).run()
}

class Model {
  readonly #options: ModelOptions
  readonly #random: () => number
  readonly #records: TrueRecord[] = []
  readonly #commits: Commit[] = []
  readonly #sessions: ModelSession[] = []
  readonly #parents = new Map<string, { session: string; atUs: number }>()
  readonly #offsets: { readonly us: number; readonly rate: number }[]
  #position = 0
  #nowUs = 10_000_000

  constructor(options: ModelOptions) {
    this.#options = options
    this.#random = options.random
    this.#offsets = Array.from({ length: options.clocks + 1 }, () => ({
      us: Math.floor(this.#random() * 1e9),
      rate: 1 + DRIFT * (2 * this.#random() - 1),
    }))
  }

  run(): ModelHistory {
    const { sessions, steps, clocks, serverRecords } = this.#options
    for (let i = 0; i < sessions; i++) this.#open(i % clocks, undefined)
    if (serverRecords) this.#sampleServer()
    let sampledUs = 0
    for (let step = 0; step < steps; step++) {
      this.#nowUs += 1 + Math.floor(this.#random() * 40_000)
      if (this.#nowUs > sampledUs + SAMPLE_US) {
        sampledUs = this.#nowUs
        this.#sampleAll()
      }
      this.#step()
    }
    const placedUntilUs = this.#nowUs
    this.#nowUs += 2_000_000
    this.#sampleAll()
    this.#records.sort((a, b) => a.endedUs - b.endedUs)
    return { records: this.#records, parents: this.#parents, doubtUsMax: 4 * ROUND_TRIP_US_MAX + 20_000, placedUntilUs }
  }

  #step(): void {
    const chance = this.#random()
    const session = this.#pick(this.#sessions)
    if (chance < 0.25) this.#write(session)
    else if (chance < 0.28) this.#handOn(session)
    else this.#read(session)
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)]!
  }

  #local(clock: number, us: number): number {
    const { us: offset, rate } = this.#offsets[clock]!
    return Math.floor((us - offset) * rate)
  }

  #sampleAll(): void {
    const seen = new Set<number>()
    for (const session of this.#sessions) {
      if (seen.has(session.clock)) continue
      seen.add(session.clock)
      this.#sample(session.name, session.clock, {})
    }
    if (this.#options.serverRecords) this.#sampleServer()
  }

  #sampleServer(): void {
    this.#sample('server', this.#options.clocks, { role: 'server', part: [0, 1], pos: this.#position })
  }

  #sample(s: string, clock: number, more: object): void {
    const askedUs = this.#nowUs
    const answeredUs = askedUs + Math.floor(this.#random() * ROUND_TRIP_US_MAX)
    const readUs = askedUs + this.#random() * (answeredUs - askedUs)
    const serverUs = Math.floor(readUs / 1000) * 1000
    const t = this.#local(clock, answeredUs)
    const record: HistoryRecord = {
      ...{ f: 1, op: 'session', s, c: `c${clock}`, log: LOG, t },
      ...{ lo: serverUs - t, hi: serverUs + 1000 - this.#local(clock, askedUs), ...more },
    }
    this.#records.push({ record, beganUs: askedUs, endedUs: answeredUs })
  }

  #open(clock: number, parent: ModelSession | undefined): ModelSession {
    const name = `s${this.#sessions.length}`
    const inherited = new Map<string, number>()
    if (parent !== undefined) {
      for (let i = 0; i < this.#options.paths; i++) inherited.set(`p${i}`, this.#floor(parent, `p${i}`, this.#nowUs))
    }
    const session = { name, clock, position: parent?.position ?? 0, floors: new Map(), inherited }
    this.#sessions.push(session)
    if (parent === undefined) this.#sample(name, clock, {})
    return session
  }

  #handOn(parent: ModelSession): void {
    const token = `token ${this.#nowUs}`
    const t = this.#local(parent.clock, this.#nowUs)
    const handedOn: HistoryRecord = { f: 1, op: 'token', s: parent.name, t, token: nameOfToken(token) }
    this.#records.push({ record: handedOn, beganUs: this.#nowUs, endedUs: this.#nowUs })
    const child = this.#open(Math.floor(this.#random() * this.#options.clocks), parent)
    this.#parents.set(child.name, { session: parent.name, atUs: this.#nowUs })
    this.#nowUs += 1
    this.#sample(child.name, child.clock, { from: nameOfToken(token) })
  }

  #floor({ floors, inherited }: ModelSession, path: string, beganUs: number): number {
    const own = (floors.get(path) ?? []).filter(({ endedUs }) => endedUs < beganUs).map(({ state }) => state)
    return Math.max(0, inherited.get(path) ?? 0, ...own)
  }

  #note(session: ModelSession, path: string, state: number, endedUs: number): void {
    session.floors.set(path, [...(session.floors.get(path) ?? []), { state, endedUs }])
  }

  /** Commits happen one after the other, so each is complete before the next begins. */
  #write(session: ModelSession): void {
    const path = `p${Math.floor(this.#random() * this.#options.paths)}`
    const isDelete = this.#random() < 0.15
    const beganUs = this.#nowUs
    const visibleUs = beganUs + 1 + Math.floor(this.#random() * 3000)
    this.#nowUs = visibleUs
    const endedUs = visibleUs + 1 + Math.floor(this.#random() * 30_000)
    const position = ++this.#position
    this.#commits.push({ position, path, isDelete, visibleUs, ackUs: endedUs })
    this.#note(session, path, position, endedUs)
    this.#recordWrite(session.name, session.clock, { path, isDelete, position, beganUs, endedUs })
    if (!this.#options.serverRecords) return
    this.#recordWrite('server', this.#options.clocks, { path, isDelete, position, beganUs, endedUs: visibleUs + 1 })
    this.#commits.at(-1)!.ackUs = visibleUs + 1
  }

  #recordWrite(
    s: string,
    clock: number,
    write: { path: string; isDelete: boolean; position: number; beganUs: number; endedUs: number },
  ): void {
    const { path, isDelete, position: at, beganUs, endedUs } = write
    const paths = isDelete ? { d: [path] } : { w: [path] }
    const [b, e] = [this.#local(clock, beganUs), this.#local(clock, endedUs)]
    const record: WriteRecord = { f: 1, op: 'write', s, b, e, at, ...paths }
    this.#records.push({ record, beganUs, endedUs })
  }

  #read(session: ModelSession): void {
    const path = `p${Math.floor(this.#random() * this.#options.paths)}`
    const isAny = this.#random() < 0.1
    const withinMs = this.#pick(BUCKET_STEPS)
    const beganUs = this.#nowUs
    const isSlow = this.#random() < 0.1
    const endedUs = beganUs + 1 + Math.floor(this.#random() * (isSlow ? 300_000 : 5000))
    session.position = Math.max(session.position, this.#acknowledgedBefore(beganUs - this.#random() * 1_000_000))
    const least = Math.max(
      ...[session.position, this.#acknowledgedBefore(beganUs - withinMs * 1000), this.#floor(session, path, beganUs)],
    )
    const from = isAny ? 0 : least
    const state = from + Math.floor(this.#random() * (this.#position - from + 1))
    const v = this.#versionAt(path, state)
    this.#note(session, path, state, endedUs)
    const record: ReadRecord = {
      ...{ f: 1, op: 'read', s: session.name, path, b: this.#local(session.clock, beganUs) },
      e: this.#local(session.clock, endedUs),
      ...(isAny ? {} : { within: withinMs, sp: session.position }),
      ...{ v, pos: v + Math.floor(this.#random() * (state - v + 1)), by: 'model' },
    }
    this.#records.push({ record, beganUs, endedUs })
  }

  #acknowledgedBefore(timeUs: number): number {
    return this.#commits.reduce((most, { position, ackUs }) => (ackUs < timeUs ? Math.max(most, position) : most), 0)
  }

  #versionAt(path: string, state: number): number {
    const commit = this.#commits.findLast(each => each.path === path && each.position <= state)
    return commit === undefined || commit.isDelete ? 0 : commit.position
  }
}
