/** What the checker found, for people. */
import { type HistorySummary, PROMISES } from '@freshet/core/history'

export function summaryText(summary: HistorySummary): string {
  const { reads, promisedReads, writes, sessions, handOvers, brokenReads, staleness } = summary
  const { count, p50, p90, p99, max } = staleness
  return [
    `${whole(reads)} reads (${whole(promisedReads)} with a promise) and ${whole(writes)} writes of ${whole(sessions)} recorders, ` +
      `${whole(handOvers)} hand-overs`,
    '',
    ...table(['promise', 'broken'], [...PROMISES.map(promised => [promised, whole(summary.violations[promised])])]),
    '',
    ...table(
      ['served from', 'reads', 'stale', 'broken'],
      Object.entries(summary.servedFrom).map(([by, { reads: all, stale, broken }]) => [
        by,
        ...[all, stale, broken].map(whole),
      ]),
    ),
    '',
    count === 0
      ? 'No read returned anything older than what had been acknowledged when it began.'
      : `${whole(count)} reads (${((100 * count) / Math.max(1, reads)).toFixed(2)} %) returned something older than the latest; how long ago ` +
        `the newer one had been\nacknowledged when they began: p50 ${ms(p50)}, p90 ${ms(p90)}, p99 ${ms(p99)}, max ${ms(max)}`,
    ...undecidedText(summary),
    '',
    brokenReads === 0 ? 'No promise was broken.' : `${whole(brokenReads)} reads broke a promise.`,
    '',
  ].join('\n')
}

function undecidedText({ undecided }: HistorySummary): string[] {
  const { times, absence, withoutWrites, handOvers, lines, forgotten } = undecided
  const rows: (readonly [number, string])[] = [
    [times, 'reads: the clocks are not known well enough to say whether a write came before'],
    [absence, 'reads found nothing there, which a deletion that nobody recorded would explain (see --complete)'],
    [withoutWrites, 'reads of what nobody recorded a write of: only that they do not go back was checked'],
    [handOvers, 'sessions continue one whose token was not recorded'],
    [lines, 'lines of sessions that no line before them tells of: was the beginning cut off?'],
    [forgotten, 'paths or sessions had to make room in memory: what they did before was forgotten'],
  ]
  const told = rows.filter(([count]) => count > 0).map(([count, what]) => `  ${whole(count)} ${what}`)
  return told.length === 0 ? [] : ['', 'Not decided:', ...told]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)))
  return [head, ...rows].map(row =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd(),
  )
}

function whole(count: number): string {
  return count.toLocaleString('en-GB').replaceAll(',', ' ')
}

function ms(value: number): string {
  return value >= 10_000 ? `${(value / 1000).toFixed(1)} s` : `${value.toFixed(value < 10 ? 2 : 0)} ms`
}
