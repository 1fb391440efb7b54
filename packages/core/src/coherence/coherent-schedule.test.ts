/**
 * Random schedules over one log: two servers that follow and age their sketches at different times, and readers that poll
 * either, are pushed to, sleep, and get answers late and out of order. The naive model is a map: path -> last change.
 */
import type { Bloom } from '@freshet/bloom'
import { type Path, type Position, pathOfKey } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { LogEntry } from '../store/index.js'
import { formatNews, parseNews } from './news.js'
import { decodeFilter, decodeSegmentBundle, encodeSegmentBundle } from './segment-bundle.js'
import { createSketch, type Sketch } from './sketch.js'
import { type ReaderHead, SketchView } from './sketch-view.js'

const SLOT_MS = 1000

type Step =
  | { kind: 'commit'; keys: number[]; gap: number; waitMs: number }
  | { kind: 'burst'; count: number }
  | { kind: 'follow' | 'advance'; server: number }
  | { kind: 'ask'; reader: number; server: number }
  | { kind: 'fetch' | 'install'; flight: number; server: number }
  | { kind: 'push'; reader: number; server: number; isLost: boolean }
  | { kind: 'sleep'; waitMs: number }
  | { kind: 'renew' }

interface Flight {
  readonly reader: number
  readonly head: ReaderHead
  readonly after: Position | undefined
  filters?: readonly Bloom[]
}

class Schedule {
  readonly windowMs: number
  nowMs = 0
  log = 'log 0'
  seed = 0xfeedn
  entries: LogEntry[] = []
  /** Every change of each path, in order. */
  changes = new Map<Path, Position[]>()
  servers: Sketch[] = []
  /** How far each server's stream of events to each reader has got. */
  streams: Position[][] = []
  views = [new SketchView(), new SketchView(), new SketchView()]
  flights: Flight[] = []

  constructor(windowMs: number) {
    this.windowMs = windowMs
    this.#start()
  }

  #start(): void {
    this.entries = []
    this.changes = new Map()
    this.servers = [0, 1].map(() =>
      createSketch({ seed: this.seed, from: 0, windowMs: this.windowMs, slotMs: SLOT_MS }),
    )
    this.streams = this.servers.map(() => this.views.map(() => 0))
  }

  run(step: Step): void {
    if (step.kind === 'commit' || step.kind === 'sleep') this.nowMs += step.waitMs
    if (step.kind === 'commit') this.commit(step.keys, step.gap)
    if (step.kind === 'burst') for (let i = 0; i < step.count; i++) this.commit([i % 40], 0)
    if (step.kind === 'follow') this.follow(step.server)
    if (step.kind === 'advance') this.servers[step.server]!.advance(this.nowMs, this.windowMs)
    if (step.kind === 'ask') this.ask(step.reader, step.server)
    if (step.kind === 'fetch') this.fetch(step.flight, step.server)
    if (step.kind === 'install') this.install(step.flight)
    if (step.kind === 'push') this.push(step.reader, step.server, step.isLost)
    if (step.kind === 'renew') this.renew()
  }

  renew(): void {
    this.log = `${this.log}+`
    this.seed++
    this.#start()
  }

  commit(numbers: readonly number[], gap: number): void {
    const position = (this.entries.at(-1)?.position ?? 0) + 1 + gap
    const keys = numbers.map(number => `shop/b${number % 3}/${number}`)
    this.entries.push({ position, timeMs: this.nowMs, keys, tags: [] })
    for (const path of new Set(keys.flatMap(key => [pathOfKey(key), pathOfKey(key.slice(0, 7))]))) {
      this.changes.set(path, [...(this.changes.get(path) ?? []), position])
    }
  }

  follow(server: number): void {
    const sketch = this.servers[server]!
    sketch.append(this.entries.filter(entry => entry.position > sketch.position))
  }

  ask(reader: number, server: number): void {
    this.follow(server)
    const { after, log = '', seed } = this.views[reader]!
    const made = { ...this.servers[server]!.head(after), log: this.log, timeMs: this.nowMs }
    const news = formatNews(made, after, 'n')
    const head = news === undefined ? JSON.parse(JSON.stringify(made)) : parseNews(news, { log, seed }, 'n')
    // News of another log: the reader would ask for a whole head.
    if (head === undefined) expect(log).not.toBe(this.log)
    else this.flights.push({ reader, head, after })
  }

  /** The segments may come from the other server, which has cut them differently, and at any time after the head. */
  fetch(index: number, server: number): void {
    const flight = this.flights[index % Math.max(1, this.flights.length)]
    if (!flight || flight.filters) return
    const plan = this.views[flight.reader]!.plan(flight.head, flight.after)
    if (plan.kind !== 'install' || flight.head.log !== this.log) return
    this.follow(server)
    const encoded = plan.missing.map(ref => this.servers[server]!.segment(ref))
    if (!encoded.every(bytes => bytes !== undefined)) return
    flight.filters = decodeSegmentBundle(encodeSegmentBundle(encoded), encoded.length, this.seed)
  }

  install(index: number): void {
    const flight = this.flights.splice(index % Math.max(1, this.flights.length), 1)[0]
    if (!flight) return
    const view = this.views[flight.reader]!
    const plan = view.plan(flight.head, flight.after)
    const isInstallable = plan.kind === 'install' && (flight.filters || plan.missing.length === 0)
    if (plan.kind === 'ignore' || isInstallable) view.install(flight.head, flight.after, flight.filters ?? [])
    else if (plan.kind === 'restart')
      expect(() => view.install(flight.head, flight.after, [])).toThrow(/ANSWER|continue/)
  }

  push(reader: number, server: number, isLost: boolean): void {
    const view = this.views[reader]!
    if (view.log !== this.log) return
    this.follow(server)
    const sketch = this.servers[server]!
    const from = this.streams[server]![reader]!
    const changes = sketch.changesAfter(from)
    this.streams[server]![reader] = sketch.position
    if (isLost || !changes) return
    const before = view.position
    const isTaken = view.push({ from, to: sketch.position, askedMs: this.nowMs, changes })
    expect(view.position).toBe(isTaken ? Math.max(before, sketch.position) : before)
    if (from > before) expect(isTaken).toBe(false)
  }

  check(): void {
    for (const view of this.views) if (view.log === this.log) this.#checkView(view)
    for (const sketch of this.servers) this.#checkSketch(sketch)
  }

  #checkView(view: SketchView): void {
    ensure(view.from <= view.position, 'from is after position')
    for (const [path, positions] of this.changes) {
      const last = positions.findLast(position => position <= view.position) ?? 0
      const at = view.at(path)
      ensure((at ?? 0) <= view.position, `${path} is asked for at ${at}, beyond the position ${view.position}`)
      ensure(last <= view.from || (at ?? 0) >= last, `${path} changed at ${last}, but is asked for at ${at}`)
    }
    this.#checkDropped(view.from)
  }

  #checkSketch(sketch: Sketch): void {
    this.#checkDropped(sketch.from)
    const { segments, tail } = sketch.head()
    const refs = [...segments, tail]
    ensure(refs[0]!.from === sketch.from && tail.to === sketch.position, 'the window is not covered')
    refs.slice(1).forEach((ref, i) => {
      ensure(ref.from === refs[i]!.to, `there is a hole before ${ref.from}`)
    })
    for (const segment of segments) this.#checkSegment(sketch, segment.from, segment.to)
  }

  #checkSegment(sketch: Sketch, from: Position, to: Position): void {
    const filter = decodeFilter(sketch.segment({ from, to })!, this.seed)
    for (const [path, positions] of this.changes) {
      const isChanged = positions.some(position => position > from && position <= to)
      ensure(!isChanged || filter.has(path), `${path} is missing in ${from}-${to}`)
    }
  }

  /** Everything before the window is older than the window. */
  #checkDropped(from: Position): void {
    const last = this.entries.findLast(entry => entry.position <= from)
    ensure(!last || this.nowMs - last.timeMs > this.windowMs, `${last?.position} was dropped too early`)
  }
}

/** Faster than expect, which is called a million times here. */
function ensure(condition: boolean, message: string): void {
  if (!condition) throw new Error(message)
}

const server = fc.nat(1)
const reader = fc.nat(2)
const waitMs = fc.oneof({ weight: 5, arbitrary: fc.nat(700) }, fc.nat(20_000), fc.constant(200_000))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      keys: fc.array(fc.nat(19), { maxLength: 4 }),
      gap: fc.oneof(fc.constant(0), fc.nat(3)),
      waitMs,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('burst' as const), count: fc.nat(200) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('follow' as const, 'advance' as const), server }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ask' as const), reader, server }) },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constantFrom('fetch' as const, 'install' as const), flight: fc.nat(5), server }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('push' as const),
      reader,
      server,
      isLost: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sleep' as const), waitMs }) },
)
const rarely: fc.Arbitrary<Step> = fc.constant({ kind: 'renew' })

it('a reader knows of every change in (from, position], whichever server answered, when and in which order', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(500, 5000, 70_000),
      fc.array(fc.oneof({ weight: 60, arbitrary: step }, { weight: 1, arbitrary: rarely }), {
        size: 'max',
        maxLength: 90,
      }),
      (windowMs, steps) => {
        const schedule = new Schedule(windowMs)
        for (const each of steps) {
          schedule.run(each)
          schedule.check()
        }
      },
    ),
    { numRuns: 250 },
  )
})
