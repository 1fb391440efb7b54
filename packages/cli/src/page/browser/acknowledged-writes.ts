/**
 * Which writes were acknowledged when, as far as this page knows: its own, those of other tabs, and what any reader has
 * seen. By it the readers are judged.
 */
export interface AcknowledgedWrite {
  readonly id: string
  readonly version: number
  /** By the clock of this machine, which all its tabs share. */
  readonly timeMs: number
}

/** Far longer than any copy lives on this page. */
const KEPT_MAX = 1000

export class AcknowledgedWrites {
  /** By ascending version, and so by time. */
  readonly #writes = new Map<string, AcknowledgedWrite[]>()

  /** Of the same version the first note counts. */
  add(write: AcknowledgedWrite): void {
    const writes = this.#writes.get(write.id) ?? []
    if (writes.some(({ version }) => version === write.version)) return
    const kept = [...writes, write].sort((a, b) => a.version - b.version).slice(-KEPT_MAX)
    this.#writes.set(write.id, kept)
  }

  /** The first write that a reader of this version has missed; undefined if there is none. */
  firstMissed(id: string, version: number): AcknowledgedWrite | undefined {
    return this.#writes.get(id)?.find(write => write.version > version)
  }

  /** Whether somebody who read this version, and began at `beganMs`, missed a write acknowledged `boundMs` before. */
  isStale(id: string, version: number, beganMs: number, boundMs: number): boolean {
    const missed = this.firstMissed(id, version)
    return missed !== undefined && missed.timeMs < beganMs - boundMs
  }
}
