/** Numbers of equal width (1 to 32 bits) in one run of bits, without padding. An entry may lie across two words. */
export class PackedEntries {
  readonly length: number
  readonly #words: Int32Array
  readonly #entryBits: number
  readonly #mask: number

  constructor(length: number, entryBits: number) {
    this.length = length
    this.#words = new Int32Array(Math.ceil((length * entryBits) / 32))
    this.#entryBits = entryBits
    this.#mask = 0xffffffff >>> (32 - entryBits)
  }

  read(at: number): number {
    const bit = at * this.#entryBits
    const shift = bit & 31
    const low = this.#words[bit >>> 5]! >>> shift
    const isSplit = shift + this.#entryBits > 32
    return (isSplit ? low | (this.#words[(bit >>> 5) + 1]! << (32 - shift)) : low) & this.#mask
  }

  write(at: number, entry: number): void {
    const bit = at * this.#entryBits
    const shift = bit & 31
    const word = bit >>> 5
    this.#words[word] = (this.#words[word]! & ~(this.#mask << shift)) | (entry << shift)
    if (shift + this.#entryBits <= 32) return
    this.#words[word + 1] = (this.#words[word + 1]! & ~(this.#mask >>> (32 - shift))) | (entry >>> (32 - shift))
  }

  clear(): void {
    this.#words.fill(0)
  }

  get sizeBytes(): number {
    return this.#words.byteLength
  }
}
