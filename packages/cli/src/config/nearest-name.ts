/** Guesses what a mistyped name meant: the known name with the fewest slips of the finger in between. */

/** Undefined if no name is near enough to be worth a guess. */
export function nearestName(typed: string, names: Iterable<string>): string | undefined {
  const plain = foldSpelling(typed)
  let best: { readonly name: string; readonly slips: number } | undefined
  for (const name of names) {
    const known = foldSpelling(name)
    const slips = known.startsWith(plain) && plain.length >= 3 ? 0.5 : slipsBetween(plain, known)
    if (slips <= Math.max(1, Math.floor(known.length / 3)) && slips < (best?.slips ?? Number.POSITIVE_INFINITY)) {
      best = { name, slips }
    }
  }
  return best?.name
}

/** The end of a sentence: ` Did you mean "port"?`, or nothing. */
export function didYouMean(
  typed: string,
  names: Iterable<string>,
  show: (name: string) => string = JSON.stringify,
): string {
  const name = nearestName(typed, names)
  return name === undefined ? '' : ` Did you mean ${show(name)}?`
}

/** `log-level`, `LOG_LEVEL` and `logLevel` count as one name. */
function foldSpelling(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '')
}

/** The number of letters to insert, leave out, replace, or swap with their neighbour (optimal string alignment). */
function slipsBetween(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
      }
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
