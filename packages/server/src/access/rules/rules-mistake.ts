/** A mistake in a rules file: what is wrong, where, and perhaps what was meant. */
export interface RulesMistake {
  /** Starts at 1. */
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Thrown inside the parser; `parseRules` turns it into a RulesMistake. */
export class RulesError extends Error {
  readonly column: number

  constructor(column: number, message: string) {
    super(message)
    this.column = column
  }
}

/** ` Did you mean "claim"?`, or an empty string. The caller supplies it, since the caller has the dictionary. */
export type Guess = (typed: string, names: Iterable<string>) => string
