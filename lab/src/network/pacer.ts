/** One direction of a link, shared by all connections: bytes leave one after the other, as fast as the link carries them. */
export class Pacer {
  #freeMs = 0

  /** When the last of `bytes` bytes has left. */
  send(nowMs: number, bytes: number, bytesPerSecond: number): number {
    this.#freeMs = Math.max(this.#freeMs, nowMs) + (bytes / bytesPerSecond) * 1000
    return this.#freeMs
  }
}
