/** A file that is written line by line, with the SHA-256 digest of its content so far. Unwritten lines take bounded memory. */
import { createHash, type Hash } from 'node:crypto'
import { fdatasync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'

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

  /** Creates a file; fails with EEXIST if it exists. */
  static async create(path: string): Promise<LineWriter> {
    return new LineWriter(path, await open(path, 'wx', 0o600), createHash('sha256'))
  }

  /** Continues a file after its first `bytes`, whose hash is given; the rest is cut off. */
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

  /** The digest of all lines so far. */
  digest(): string {
    return this.#hash.copy().digest('hex')
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#waiting)
    this.#waiting = []
    this.#waitingBytes = 0
    for (let at = 0; at < bytes.length; ) at += (await this.#file.write(bytes, at)).bytesWritten
  }

  /** The lines are on disk when this resolves. */
  async sync(): Promise<void> {
    await this.flush()
    // Under Yarn's Plug'n'Play, file handles have no `datasync`.
    await promisify(fdatasync)(this.#file.fd)
  }

  /** Drops lines that are not flushed. */
  async close(): Promise<void> {
    await this.#file.close()
  }
}
