/**
 * Reads a file, or standard input, line by line, with the SHA-256 digest of all lines before the current one. Memory is bounded.
 */
import { isUtf8 } from 'node:buffer'
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { FreshetError } from '@freshet/protocol'

export const STANDARD_INPUT = '-'
export const LINE_BYTES_MAX: number = 64 * 1024 * 1024
const LINE_BREAK = 0x0a

export class LineReader {
  readonly path: string
  readonly #hash: Hash = createHash('sha256')
  #number = 0
  #bytes = 0
  #isLastWhole = true

  constructor(path: string) {
    this.path = path
  }

  /** The number of the current line, from 1. */
  get number(): number {
    return this.#number
  }

  /** The digest of all lines before the current one; after the end, of all complete lines. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  hash(): Hash {
    return this.#hash.copy()
  }

  /** The size of all lines before the current one; after the end, of all complete lines. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the current line ends with a line break. */
  get isWhole(): boolean {
    return this.#isLastWhole
  }

  /** `keepsReturns`: a carriage return before the line feed is part of the line. */
  async *lines({ keepsReturns = false }: { readonly keepsReturns?: boolean } = {}): AsyncGenerator<string> {
    let rest: Buffer = Buffer.alloc(0)
    const stream = this.path === STANDARD_INPUT ? process.stdin : createReadStream(this.path)
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let start = 0
      for (let end = bytes.indexOf(LINE_BREAK, Math.min(rest.length, bytes.length)); end !== -1; ) {
        yield this.#take(bytes.subarray(start, end), keepsReturns)
        this.#pass(bytes.subarray(start, end + 1))
        start = end + 1
        end = bytes.indexOf(LINE_BREAK, start)
      }
      rest = bytes.subarray(start)
      if (rest.length > LINE_BYTES_MAX) throw this.invalid(`the line is longer than ${LINE_BYTES_MAX} bytes`, 1)
    }
    if (rest.length === 0) return
    this.#isLastWhole = false
    yield this.#take(rest, keepsReturns)
  }

  /** FILE_INVALID, about the current line or a later one. */
  invalid(reason: string, after = 0): FreshetError {
    return new FreshetError('FILE_INVALID', `${this.path}:${this.#number + after}: ${reason}.`)
  }

  #take(bytes: Buffer, keepsReturns: boolean): string {
    this.#number++
    if (!isUtf8(bytes)) throw this.invalid('it is not UTF-8')
    return bytes.at(-1) === 0x0d && !keepsReturns ? bytes.toString('utf8', 0, bytes.length - 1) : bytes.toString()
  }

  #pass(bytes: Buffer): void {
    this.#hash.update(bytes)
    this.#bytes += bytes.length
  }
}
