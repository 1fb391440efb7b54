/** A map of the entries that were set last. Beyond `countMax` entries, the one that was set first is dropped. */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  readonly #countMax: number

  constructor(countMax: number) {
    super()
    this.#countMax = countMax
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.#countMax) this.delete(this.keys().next().value as Key)
    return this
  }
}
