/**
 * Which of several servers appends when. Servers that append at the same time hinder each other: Paxos lets them outbid each
 * other, and Cassandra's pauses for up to a tenth of a second. (Two servers, 64 commits in flight in all: a sixth of the
 * commits of one.) So while servers collide, they take turns: time, by the store's clock, is divided into slices, one for each
 * server that has appended in the last second, long enough for a few appends.
 *
 * Everything that a server needs for this is in the records of the log: which servers have appended, how long that took, and
 * how often another server was first. If servers disagree a little, they collide as they would without turns: turns are advice,
 * not a lock.
 */
import { randomUUID } from 'node:crypto'

/** What a record says of its append. */
export interface AppendNote {
  readonly server: string
  /** How often another record had its slot first. */
  readonly lost: number
  /** About how long this server's appends take. */
  readonly tookMs: number
}

const MEMORY_MS = 1000
const APPENDS_PER_SLICE = 3
const TOOK_MS_MIN = 8
const TOOK_MS_MAX = 256
const SAMPLES = 8

export class Turns {
  readonly server: string = randomUUID()
  readonly #seen = new Map<string, { readonly atMs: number; readonly tookMs: number }>()
  readonly #took: number[] = []
  #lostMs = Number.NEGATIVE_INFINITY
  #lost = 0

  /** For the next record. */
  get note(): AppendNote {
    return { server: this.server, lost: this.#lost, tookMs: this.#tookMs }
  }

  /** A record was met, of this server or another. */
  meet({ server, lost, tookMs }: AppendNote, nowMs: number): void {
    this.#seen.set(server, { atMs: nowMs, tookMs })
    if (lost > 0) this.#lostMs = nowMs
    if (server === this.server) this.#lost = 0
  }

  /** Another server had the slot first. */
  lose(): void {
    this.#lost++
  }

  took(ms: number): void {
    this.#took.push(ms)
    if (this.#took.length > SAMPLES) this.#took.shift()
  }

  /** Whether another server has appended lately: then this server's view of the log's end is unreliable. */
  isAmongOthers(nowMs: number): boolean {
    return this.#active(nowMs).some(([server]) => server !== this.server)
  }

  /** How long to wait before the next append. */
  waitMs(nowMs: number): number {
    const active = this.#active(nowMs)
    const rank = active.findIndex(([server]) => server === this.server)
    if (nowMs - this.#lostMs > MEMORY_MS || rank === -1 || active.length === 1) return 0
    const sliceMs = APPENDS_PER_SLICE * Math.max(...active.map(([, { tookMs }]) => tookMs))
    const roundMs = active.length * sliceMs
    const intoMs = (nowMs % roundMs) - rank * sliceMs
    const isOurs = intoMs >= 0 && intoMs + this.#tookMs <= sliceMs
    return isOurs ? 0 : (roundMs - intoMs) % roundMs
  }

  /** The same for all servers that have met the same records. */
  #active(nowMs: number): [string, { readonly atMs: number; readonly tookMs: number }][] {
    for (const [server, { atMs }] of this.#seen) if (nowMs - atMs > MEMORY_MS) this.#seen.delete(server)
    return [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** The shortest of the last few appends, in which no other server interfered; in steps, so that slices seldom change. */
  get #tookMs(): number {
    const shortestMs = this.#took.length === 0 ? 0 : Math.min(TOOK_MS_MAX, ...this.#took)
    const ms = Math.max(TOOK_MS_MIN, shortestMs)
    return 2 ** Math.ceil(Math.log2(ms))
  }
}
