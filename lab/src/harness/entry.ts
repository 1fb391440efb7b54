/** The list of experiments, or of benches: enough to list them without loading them and the libraries they need. */
import type { Reporter } from './command-output.js'
import { UsageError } from './usage-error.js'

export interface Entry<Item> {
  /** kebab-case, as typed after `npm run lab --` or `npm run bench --`. */
  readonly name: string
  readonly title: string
  load(): Promise<Item>
}

/** `kind`: the name of the list in the JSON. */
export function listEntries(kind: string, entries: readonly Entry<unknown>[], reporter: Reporter): void {
  const width = Math.max(...entries.map(entry => entry.name.length))
  for (const { name, title } of entries) reporter.say(`${name.padEnd(width)}  ${title}`)
  reporter.answer({ [kind]: entries.map(({ name, title }) => ({ name, title })) })
}

/** Finds the entry with this name, or throws an error that suggests the name that was probably meant. */
export function findEntry<Item>(
  entries: readonly Entry<Item>[],
  name: string,
  command: { readonly kind: string; readonly list: string },
): Entry<Item> {
  const found = entries.find(entry => entry.name === name)
  if (found) return found
  const meant = nearest(
    name,
    entries.map(entry => entry.name),
  )
  const guess = meant ? ` Did you mean ${meant}?` : ''
  throw new UsageError(`There is no ${command.kind} called "${name}".${guess} List them with: ${command.list}`)
}

/** The known word nearest to `word`, if the edits are at most a third of its length. */
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
