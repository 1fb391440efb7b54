/**
 * The last so many of something, numbered. In memory, and of this process alone: for looking at, nothing relies on it. Who asks again names
 * the last number known.
 */
export interface Numbered<Item> {
  readonly number: number
  readonly item: Item
}

export class Recent<Item> {
  readonly #max: number
  #items: Numbered<Item>[] = []
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  add(item: Item): void {
    this.#items.push({ number: ++this.#count, item })
    // Now and then, since moving all of them is dearer than having a few too many.
    if (this.#items.length > 2 * this.#max) this.#items = this.#items.slice(-this.#max)
  }

  /** The newest, oldest first. */
  after(number: number): readonly Numbered<Item>[] {
    return this.#items.slice(-this.#max).filter(each => each.number > number)
  }
}
