/** The holders of names, for stores that are in one process. */
export class Holders {
  readonly #held = new Map<string, { readonly holder: string; readonly untilMs: number }>()

  /** See `Store.hold`. */
  hold(name: string, holder: string, ms: number, nowMs: number): boolean {
    const held = this.#held.get(name)
    if (held !== undefined && held.holder !== holder && held.untilMs > nowMs) return false
    if (ms > 0) this.#held.set(name, { holder, untilMs: nowMs + ms })
    else this.#held.delete(name)
    return true
  }
}
