/** A file that is written line by line, with the SHA-256 of all that is in it so far. What is not written yet is bounded. */
import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'

const BUFFERED_BYTES_MAX = 256 * 1024

export class LineWriter {
  readonly path: string
  readonly #file: FileHandle
  readonly #hash: Hash
  #waiting: Buffer[] = []
  #waitingBytes = 0

  private constructor(path: string, file: FileHandle, hash: Hash) {
    this.path = path
    this.#file = file
    this.#hash = hash
  }

  /** A new file; fails with EEXIST if there is one. */
  static async create(path: string): Promise<LineWriter> {
    return new LineWriter(path, await open(path, 'wx', 0o600), createHash('sha256'))
  }

  /** Goes on after the first bytes of a file, whose hash is given; what follows them is cut off. */
  static async goOn(path: string, bytes: number, hash: Hash): Promise<LineWriter> {
    const file = await open(path, 'r+')
    await file.truncate(bytes)
    await file.close()
    return new LineWriter(path, await open(path, 'a'), hash)
  }

  async write(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`)
    this.#hash.update(bytes)
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= BUFFERED_BYTES_MAX) await this.flush()
  }

  /** Of all lines so far. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten
  }

  /** On disk when resolved. */
  async sync(): Promise<void> {
    await this.flush()
    await this.#file.datasync()
  }

  /** Without what is not flushed. */
  async close(): Promise<void> {
    await this.#file.close()
  }
}
