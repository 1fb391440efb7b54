/**
 * Tests the coherence argument: a store, servers, a tree of misbehaving caches, writers, and readers with real sessions, all in
 * simulated time and from one seed. See `mix.ts` for the faults and `checker.ts` for what must hold nevertheless.
 *
 *     readers -- browser -- forward 0 -- reverse 0 -- any worker -- store
 *                        \- forward 1 -- reverse 1 -/
 *                        \-------------- reverse 0, 1 or a worker
 */
import type { ReadMode } from '@freshet/core/coherence'
import { bucketOfKey, type Key, type Path, pathOfKey } from '@freshet/protocol'
import { createRandom, type Random } from '../harness/random.js'
import { EventQueue } from '../simulator/event-queue.js'
import { CacheNetwork } from './cache-network.js'
import { Checker, type Promised } from './checker.js'
import { EventStream } from './event-stream.js'
import { startFaults } from './faults.js'
import type { CacheBehaviour, Mix, Strategy } from './mix.js'
import type { PlantedBug } from './planted-bugs.js'
import { Reader } from './reader.js'
import { ServerWorker } from './server-worker.js'
import { TrueHistory } from './true-history.js'
import { WebCache } from './web-cache.js'
import type { Upstream } from './wire.js'

const BUCKETS = 12
const OBJECTS_PER_BUCKET = 20
const HOT_SHARE = 0.5
const SLICE_MS = 5000

export interface SimulationOptions {
  readonly seed: number
  readonly mix: Mix
  readonly bug?: PlantedBug
  /** Default freshet; the other strategies accept violations. */
  readonly strategy?: Strategy
  /** Ends soon after the first violation of this promise. */
  readonly stopsAt?: Promised
}

export interface SimulationResult {
  readonly seed: number
  readonly reads: number
  /** Reads of objects that a server had to answer; caches answered the others. */
  readonly originReads: number
  readonly heads: number
  readonly writes: number
  /** Reads that got no answer in time. */
  readonly failed: number
  /** Answers that sessions refused; usually another answer was acceptable. */
  readonly refused: number
  /** Reads that failed because no answer was acceptable: CACHE_UNTRUSTWORTHY. */
  readonly untrustworthy: number
  readonly violations: number
  readonly violationsBy: ReadonlyMap<Promised, number>
  /** The first violation, with everything needed to reproduce it. */
  readonly trace: string | undefined
}

export function simulate(options: SimulationOptions): SimulationResult {
  const world = new World(options)
  return world.run()
}

class World {
  readonly queue = new EventQueue()
  readonly history: TrueHistory
  readonly checker: Checker
  readonly workers: readonly ServerWorker[]
  readonly readers: readonly Reader[]
  readonly #options: SimulationOptions
  readonly #mix: Mix
  readonly #random: Random
  readonly #network: CacheNetwork
  #originReads = 0
  #writes = 0

  constructor(options: SimulationOptions) {
    const { seed, mix, bug } = options
    this.#options = options
    this.#mix = mix
    this.#random = createRandom(seed)
    this.history = new TrueHistory(this.queue, mix.lifetimeMs)
    this.history.clockFollowsWall = bug === 'store clock follows the wall'
    this.checker = new Checker(this.history)
    const { queue, history } = this
    this.#network = new CacheNetwork(queue, this.#random.fork('network'), mix)
    this.workers = Array.from({ length: mix.workers }, (_, i) => {
      return new ServerWorker({ name: `worker ${i}`, queue, random: this.#random.fork(`w${i}`), history, mix, bug })
    })
    this.readers = this.#createReaders()
  }

  run(): SimulationResult {
    this.#write(Math.ceil(BUCKETS * OBJECTS_PER_BUCKET * 0.8))
    this.workers.forEach((worker, i) => {
      this.queue.every(
        () => 700 + 900 * i,
        () => worker.isUp && worker.follow(),
      )
      this.queue.every(
        () => 400 + 1700 * i,
        () => worker.isUp && worker.advance(),
      )
    })
    this.queue.every(
      () => 10_000,
      () => this.#trim(),
    )
    this.queue.every(
      () => this.#random.exponential(this.#mix.writesPerSecond / 1000),
      () => this.workers.some(({ isUp }) => isUp) && this.#write(1),
    )
    if (this.#mix.hasFaults) startFaults({ ...this, mix: this.#mix, random: this.#random.fork('faults') })
    this.readers.forEach((reader, i) => {
      this.#live(reader, this.#random.fork(`life ${i}`))
      if (i % 3 === 0) this.#live(reader, this.#random.fork(`second life ${i}`))
      if (i % 2 === 0) this.#pushTo(reader, this.#random.fork(`events ${i}`))
    })
    const { stopsAt } = this.#options
    for (let timeMs = 0; timeMs < this.#mix.durationMs; timeMs += SLICE_MS) {
      this.queue.runUntil(Math.min(timeMs + SLICE_MS, this.#mix.durationMs))
      if (stopsAt && this.checker.violations.has(stopsAt)) break
    }
    return this.#result()
  }

  #createReaders(): Reader[] {
    const origin = this.#network.to(this.#origin())
    const reverse = this.#mix.reverse.map((behaviour, i) => this.#cache(`reverse ${i}`, behaviour, origin))
    const forward = this.#mix.forward.map((behaviour, i) =>
      this.#cache(`forward ${i}`, behaviour, this.#network.to(reverse[i % reverse.length]!)),
    )
    const doors = [...forward, ...reverse, ...forward, ...reverse, ...forward].map(cache => this.#network.to(cache))
    doors.push(origin)
    return Array.from({ length: this.#mix.readers }, (_, i) => {
      const door = doors[i % doors.length]!
      const random = this.#random.fork(`reader ${i}`)
      const upstream = i % 7 === 0 ? door : this.#cache(`browser ${i}`, this.#mix.browser, door)
      const stalenessMs = random.pick([300, 1000, 5000, 20_000])
      const clockErrorMs = random.float() * 1e7 - 5e6
      const { queue, checker } = this
      const { bug, strategy = 'freshet' } = this.#options
      return new Reader({
        name: `reader ${i}`,
        stalenessMs,
        clockErrorMs,
        queue,
        checker,
        upstream,
        bug,
        strategy,
      })
    })
  }

  #cache(name: string, behaviour: CacheBehaviour, upstream: Upstream): WebCache {
    return new WebCache({ name, behaviour, upstream, queue: this.queue, random: this.#random.fork(name) })
  }

  /**
   * Any worker that is up answers; the delay is spent before it reads the store. A read without a lifetime may also happen just
   * before the worker stalls, with its answer after the stall.
   */
  #origin(): Upstream {
    return {
      fetch: (request, done) => {
        const up = this.workers.filter(worker => worker.isUp)
        if (up.length === 0) return done(undefined)
        if (request.target.kind === 'object') this.#originReads++
        const worker = this.#random.pick(up)
        const early =
          request.target.kind === 'head' && this.#random.float() < 0.5 ? { reply: worker.answer(request) } : undefined
        worker.stall.whenOver(() => done(worker.isUp ? (early ?? { reply: worker.answer(request) }).reply : undefined))
      },
      passWrite: () => {},
    }
  }

  #trim(): void {
    const worker = this.workers.find(({ isUp }) => isUp)
    if (worker) this.history.trimmedTo = Math.max(this.history.trimmedTo, worker.from)
  }

  /** Repeats one action after the other, forever: mostly reads. */
  #live(reader: Reader, random: Random): void {
    const act = () => reader.stall.whenOver(() => this.#act(reader, random, next))
    const next = () => this.queue.after(random.exponential(1 / this.#mix.thinkMs), act)
    next()
  }

  #act(reader: Reader, random: Random, next: () => void): void {
    const chance = random.float()
    if (chance < 0.001) reader.continueFrom(random.pick(this.readers))
    if (chance > 0.9995) this.#sleep(reader, random, next)
    else if (chance > 0.994) this.#writeAs(reader, random, next)
    else reader.read(this.#pickPath(reader, random), pickMode(random), next)
  }

  /** Often the same path again: only then can a reader see time go back. */
  #pickPath(reader: Reader, random: Random): Path {
    if (reader.lastPath !== undefined && random.float() < 0.3) return reader.lastPath
    const key = this.#pickKey(random)
    return pathOfKey(random.float() < 0.1 ? bucketOfKey(key) : key)
  }

  #sleep(reader: Reader, random: Random, next: () => void): void {
    reader.isAsleep = true
    this.queue.after(random.float() * 2.5 * (this.#mix.lifetimeMs + this.#mix.slackMs), () => {
      reader.isAsleep = false
      next()
    })
  }

  #pickKey(random: Random): Key {
    const bucket = random.below(BUCKETS)
    const isHot = random.float() < HOT_SHARE
    return `shop/b${bucket}/${isHot ? random.below(2) : random.below(OBJECTS_PER_BUCKET)}`
  }

  /** A write through the reader's caches. The reply may be lost; then the reader does not know of its write. */
  #writeAs(reader: Reader, random: Random, next: () => void): void {
    const key = this.#pickKey(random)
    reader.passWrite(pathOfKey(key))
    this.queue.after(this.#network.delayMs(), () => {
      if (!this.workers.some(({ isUp }) => isUp)) return next()
      this.#commit(key, random, position => {
        if (this.#network.isLost()) return next()
        this.queue.after(this.#network.delayMs(), () => {
          const paths: Path[] = [pathOfKey(key), pathOfKey(bucketOfKey(key))]
          for (const path of paths) reader.wrote(path, position)
          next()
        })
      })
    })
  }

  #commit(key: Key, random: Random, done: (position: number) => void): void {
    this.#writes++
    const { isAbsent } = this.history.state(pathOfKey(key))
    const isDelete = !isAbsent && random.float() < 0.3
    this.history.commit(key, isDelete, random.float() * this.#mix.commitMsMax, random.below(3), done)
  }

  #write(count: number): void {
    for (let i = 0; i < count; i++) this.#commit(this.#pickKey(this.#random), this.#random, () => {})
  }

  #pushTo(reader: Reader, random: Random): void {
    const { queue, workers } = this
    new EventStream({ queue, random, workers, reader, bug: this.#options.bug }).open()
  }

  #result(): SimulationResult {
    const { seed, mix, bug } = this.#options
    const { first, reads, violationCount, violations } = this.checker
    const sum = (count: (reader: Reader) => number) => this.readers.reduce((total, reader) => total + count(reader), 0)
    return {
      seed,
      reads,
      originReads: this.#originReads,
      heads: sum(reader => reader.heads),
      writes: this.#writes,
      failed: sum(reader => reader.failed),
      refused: sum(reader => reader.refused),
      untrustworthy: sum(reader => reader.untrustworthy),
      violations: violationCount,
      violationsBy: violations,
      trace: first && `seed ${seed}, mix ${mix.name}${bug ? `, planted: ${bug}` : ''}\n${first.trace}`,
    }
  }
}

function pickMode(random: Random): ReadMode {
  const chance = random.float()
  if (chance < 0.1) return 'any'
  if (chance < 0.17) return 'current'
  return chance < 0.3 ? { withinMs: random.below(10_000) } : 'session'
}
