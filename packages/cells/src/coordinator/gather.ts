/** Asks several nodes at once, until enough have answered, or each has answered or failed. */
import { LayoutChanged, type NodeLine } from './node-line.js'

export interface Gathered<Answer> {
  readonly answers: ReadonlyMap<string, Answer>
  readonly failures: ReadonlyMap<string, unknown>
  readonly isEnough: boolean
  /** Resolves when the last node has answered or failed; `answers` and `failures` are then complete. */
  readonly all: Promise<void>
}

export function gather<Answer>(
  lines: readonly NodeLine[],
  ask: (line: NodeLine) => Promise<Answer>,
  isEnough: (answers: ReadonlyMap<string, Answer>) => boolean,
): Promise<Gathered<Answer>> {
  const answers = new Map<string, Answer>()
  const failures = new Map<string, unknown>()
  return new Promise(resolve => {
    const end = (): void => resolve({ answers, failures, isEnough: isEnough(answers), all })
    const all: Promise<void> = Promise.all(
      lines.map(async line => {
        try {
          answers.set(line.name, await ask(line))
          if (isEnough(answers)) end()
        } catch (error) {
          failures.set(line.name, error)
        }
      }),
    ).then(end)
  })
}

/** Throws LayoutChanged if too few nodes answered, and one of them found another layout. */
export function checkLayoutSame({ failures, isEnough }: Gathered<unknown>): void {
  if (isEnough) return
  for (const failure of failures.values()) if (failure instanceof LayoutChanged) throw failure
}
