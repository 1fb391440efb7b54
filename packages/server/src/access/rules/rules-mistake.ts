/** What is wrong with a rules file, where, and what may have been meant. */
export interface RulesMistake {
  /** From 1. */
  readonly line: number
  readonly column: number
  readonly message: string
}

/** A parser's way out; `parseRules` turns it into the RulesMistake that it is. */
export class RulesError extends Error {
  readonly column: number

  constructor(column: number, message: string) {
    super(message)
    this.column = column
  }
}

/** ` Did you mean "claim"?`, or nothing. Given by the caller, who has the dictionary for it. */
export type Guess = (typed: string, names: Iterable<string>) => string
