/**
 * Records of numbers and texts in sequence, in as few bytes as possible:
 *
 *     number   whole, from 0: seven bits in each byte, the lowest first; the eighth bit says that more follow
 *     signed   1: whether it is below 0 | number
 *     double   8, little-endian
 *     text     number: its bytes | UTF-8
 *
 * The writer reuses its memory after `clear`. Most texts and numbers are short: byte by byte is faster than a call.
 */
const BYTES_FIRST = 64 * 1024
const TWO_TO_31 = 2 ** 31

export class ByteWriter {
  #bytes = Buffer.allocUnsafe(BYTES_FIRST)
  #length = 0

  get length(): number {
    return this.#length
  }

  clear(): void {
    this.#length = 0
  }

  /** The bytes written since `clear`, or since an earlier `length`. Not a copy. */
  bytes(start = 0): Uint8Array {
    return this.#bytes.subarray(start, this.#length)
  }

  number(value: number): void {
    this.#makeRoom(8)
    let rest = value
    for (; rest >= TWO_TO_31; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) + 128
    for (; rest > 127; rest >>>= 7) this.#bytes[this.#length++] = rest | 128
    this.#bytes[this.#length++] = rest
  }

  signed(value: number): void {
    this.number(value < 0 ? 1 : 0)
    this.number(Math.abs(value))
  }

  double(value: number): void {
    this.#makeRoom(8)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  text(text: string): void {
    const { length } = text
    this.#makeRoom(8 + 3 * length)
    const start = this.#length
    this.number(length)
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit > 0x7f) {
        this.#longText(text, start)
        return
      }
      this.#bytes[this.#length++] = unit
    }
  }

  #longText(text: string, start: number): void {
    this.#length = start
    this.number(Buffer.byteLength(text))
    this.#length += this.#bytes.write(text, this.#length)
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const more = Buffer.allocUnsafe(2 * (this.#length + bytes))
    this.#bytes.copy(more, 0, 0, this.#length)
    this.#bytes = more
  }
}

export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  number(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.#at++)
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  signed(): number {
    const isNegative = this.number() === 1
    return isNegative ? -this.number() : this.number()
  }

  double(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  text(): string {
    const end = this.number() + this.#at
    const text = this.#bytes.toString('utf8', this.#at, end)
    this.#at = end
    return text
  }
}
