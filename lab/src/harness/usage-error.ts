/** A command line that cannot be run. Its message is for the person who typed it: it is shown without a stack. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Finds the entry that was asked for, or says what was probably meant. */
export function findEntry<Entry extends { readonly name: string }>(
  entries: readonly Entry[],
  name: string,
  command: { readonly kind: string; readonly list: string },
): Entry {
  const found = entries.find(entry => entry.name === name)
  if (found) return found
  const meant = nearest(
    name,
    entries.map(entry => entry.name),
  )
  const guess = meant ? ` Did you mean ${meant}?` : ''
  throw new UsageError(`There is no ${command.kind} called "${name}".${guess} See them all: ${command.list}`)
}

/** The known word within a third of its length of edits, if there is one. */
function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map(candidate => ({ candidate, edits: editDistance(word, candidate) }))
    .sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best && best.edits <= Math.ceil(best.candidate.length / 3)) return best.candidate
  return word.length >= 3 ? known.find(candidate => candidate.includes(word)) : undefined
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
