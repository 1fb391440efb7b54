/** Passes bytes on in order, each part with the delay that applied when it came in. */
import { Transform, type TransformCallback } from 'node:stream'

export class DelayedBytes extends Transform {
  readonly #delayMs: () => number
  readonly #parts: { readonly bytes: Buffer; readonly atMs: number }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(delayMs: () => number) {
    super()
    this.#delayMs = delayMs
  }

  override _transform(bytes: Buffer, _: BufferEncoding, done: TransformCallback): void {
    const delayMs = this.#delayMs()
    if (delayMs === 0 && this.#parts.length === 0) {
      done(null, bytes)
      return
    }
    this.#parts.push({ bytes, atMs: performance.now() + delayMs })
    if (this.#parts.length === 1) this.#wait()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer)
    done(error)
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#pass(), Math.max(0, this.#parts[0]!.atMs - performance.now()))
  }

  #pass(): void {
    while (this.#parts.length > 0 && this.#parts[0]!.atMs <= performance.now()) this.push(this.#parts.shift()!.bytes)
    if (this.#parts.length > 0) this.#wait()
  }
}
