/**
 * Which writes were acknowledged when, as far as this page knows: its own, those of other tabs, and those that any reader has
 * seen. The readers are judged by this.
 */
export interface AcknowledgedWrite {
  readonly id: string
  readonly version: number
  /** By the clock of this machine, which all its tabs share. */
  readonly timeMs: number
}

/** Enough to cover far more time than any copy lives on this page. */
const KEPT_MAX = 1000

export class AcknowledgedWrites {
  /** By ascending version, and so by time. */
  readonly #writes = new Map<string, AcknowledgedWrite[]>()

  /** If a version is added twice, the first time counts. */
  add(write: AcknowledgedWrite): void {
    const writes = this.#writes.get(write.id) ?? []
    if (writes.some(({ version }) => version === write.version)) return
    const kept = [...writes, write].sort((a, b) => a.version - b.version).slice(-KEPT_MAX)
    this.#writes.set(write.id, kept)
  }

  /** The first write that a reader of this version has missed; undefined if it has missed nothing. */
  firstMissed(id: string, version: number): AcknowledgedWrite | undefined {
    return this.#writes.get(id)?.find(write => write.version > version)
  }

  /** Whether a read of this version that began at `beganMs` missed a write acknowledged more than `boundMs` earlier. */
  isStale(id: string, version: number, beganMs: number, boundMs: number): boolean {
    const missed = this.firstMissed(id, version)
    return missed !== undefined && missed.timeMs < beganMs - boundMs
  }
}
