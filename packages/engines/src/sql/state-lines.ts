/** Connections for reads of several statements. Each serves one caller at a time; a caller that finds none free waits. */
export class StateLines<Line> {
  readonly #free: Line[]
  readonly #waiting: ((line: Line) => void)[] = []

  constructor(lines: readonly Line[]) {
    this.#free = [...lines]
  }

  async use<Result>(work: (line: Line) => Promise<Result>): Promise<Result> {
    const line = this.#free.pop() ?? (await new Promise<Line>(resolve => this.#waiting.push(resolve)))
    try {
      return await work(line)
    } finally {
      const next = this.#waiting.shift()
      if (next) next(line)
      else this.#free.push(line)
    }
  }
}
