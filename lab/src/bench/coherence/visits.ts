/**
 * Clients that navigate. Each reads one object after the other, as the thesis's clients do, changes one of those it has read,
 * and waits until the server has acknowledged the write. Then it pauses for about a second. Every read is checked against
 * everything acknowledged by then.
 *
 * Without the pause all clients, which are separate machines in reality, would wait for the one processor that they share here,
 * and not for the distance.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, type Stored, versionOf } from '@freshet/client'
import { ReadChecker, SessionRecord } from '../../coherence-load/read-checker.js'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import type { Random } from '../../harness/random.js'
import { BUCKET, idOf, type SocialObject, socialObject } from './social-network.js'
import { FAR_MS } from './stage.js'

export const READS_PER_WRITE = 10
const STALENESS_MS = 1000
/** The pause lasts from this to three times this. */
const PAUSE_MS_MIN = 500

export interface ClientsOptions {
  readonly url: string
  readonly clients: number
  /** The size of each client's own memory. */
  readonly memoryBytesMax: number
  readonly choose: (random: Random) => number
  readonly random: Random
  readonly journal: Journal
}

/** Records all writes, and the cost of reads. */
export class Journal {
  readonly history: RecordedHistory = new RecordedHistory()
  readonly checker: ReadChecker = new ReadChecker(this.history)
  #number = 0

  nextNumber(): number {
    return ++this.#number
  }
}

export interface RunTimes {
  readonly clients: number
  readonly reads: number
  readonly writes: number
  /** What a client spent, on average. */
  readonly readMs: number
  readonly writeMs: number
  readonly totalMs: number
  /** Reads that took a long round trip or more: no cache nearby had the object, or it was on its way. */
  readonly waited: number
  /** Reads that the client's own memory answered. */
  readonly remembered: number
  /** The share of a processor that all clients took together; near 1, they waited for it rather than for the distance. */
  readonly processorShare: number
}

interface Client {
  readonly db: Database
  readonly random: Random
  readonly record: SessionRecord
}

export class Clients {
  readonly #options: ClientsOptions
  #clients: readonly Client[] = []
  #waited = 0
  #remembered = 0

  constructor(options: ClientsOptions) {
    this.#options = options
  }

  async connect(): Promise<void> {
    const { clients, random } = this.#options
    this.#clients = await Promise.all(
      Array.from({ length: clients }, async (_, i) => ({
        db: await this.#connect(),
        random: random.fork(`client ${i}`),
        record: new SessionRecord(),
      })),
    )
  }

  /** All clients at once, each with this many visits. */
  async run(visits: number): Promise<RunTimes> {
    this.#waited = 0
    this.#remembered = 0
    const [beganMs, before] = [performance.now(), process.cpuUsage()]
    const times = await Promise.all(this.#clients.map(client => this.#visit(client, visits)))
    const used = process.cpuUsage(before)
    const count = times.length
    const mean = (of: (time: { readMs: number; writeMs: number }) => number) =>
      times.reduce((sum, time) => sum + of(time), 0) / count
    return {
      clients: count,
      reads: count * visits * READS_PER_WRITE,
      writes: count * visits,
      readMs: mean(({ readMs }) => readMs),
      writeMs: mean(({ writeMs }) => writeMs),
      totalMs: mean(({ readMs, writeMs }) => readMs + writeMs),
      waited: this.#waited,
      remembered: this.#remembered,
      processorShare: (used.user + used.system) / 1000 / (performance.now() - beganMs),
    }
  }

  close(): void {
    for (const { db } of this.#clients) db.close()
  }

  async #connect(): Promise<Database> {
    const { url, memoryBytesMax } = this.#options
    return connect(url, {
      refresh: 'push',
      staleness: STALENESS_MS,
      memoryBytesMax,
      onRead: ({ from, ms }) => {
        if (from === 'memory') this.#remembered++
        else if (ms >= FAR_MS) this.#waited++
      },
    })
  }

  async #visit(client: Client, visits: number): Promise<{ readMs: number; writeMs: number }> {
    const { random } = client
    let readMs = 0
    let writeMs = 0
    for (let visit = 0; visit < visits; visit++) {
      await delay(PAUSE_MS_MIN * (1 + 2 * random.float()))
      const beganMs = performance.now()
      const chosen = Array.from({ length: READS_PER_WRITE }, () => this.#options.choose(random))
      for (const index of chosen) await this.#read(client, index)
      const readAtMs = performance.now()
      await this.#write(client, random.pick(chosen))
      readMs += readAtMs - beganMs
      writeMs += performance.now() - readAtMs
    }
    return { readMs, writeMs }
  }

  async #read({ db, record }: Client, index: number): Promise<void> {
    const { checker } = this.#options.journal
    const id = idOf(index)
    const read = checker.begin(id, record, 'a read', STALENESS_MS, performance.now())
    const found: Stored<SocialObject> | undefined = await db.bucket<SocialObject>(BUCKET).get(id)
    checker.end(read, found && { version: versionOf(found), number: found.number }, found?.served, performance.now())
  }

  async #write({ db, record }: Client, index: number): Promise<void> {
    const { journal } = this.#options
    const id = idOf(index)
    const number = journal.nextNumber()
    const { position } = await db.bucket<SocialObject>(BUCKET).put(id, socialObject(index, number))
    journal.history.acknowledgePut(id, position, number, performance.now())
    record.wrote.set(id, Math.max(position, record.wrote.get(id) ?? 0))
  }
}
