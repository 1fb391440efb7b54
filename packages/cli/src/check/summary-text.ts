/** The checker's findings as text. */
import { type HistorySummary, PROMISES } from '@freshet/core/history'

export function summaryText(summary: HistorySummary): string {
  const { reads, promisedReads, writes, sessions, handOvers, brokenReads, staleness } = summary
  const { count, p50, p90, p99, max } = staleness
  return [
    `${whole(reads)} reads (${whole(promisedReads)} with a promise) and ${whole(writes)} writes, ${whole(sessions)} recorders, ` +
      `${whole(handOvers)} handovers`,
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
      ? 'No read returned anything older than the writes acknowledged when it began.'
      : `${whole(count)} reads (${((100 * count) / Math.max(1, reads)).toFixed(2)} %) returned outdated data. How long ago the ` +
        `newer version\nhad been acknowledged when it began: p50 ${ms(p50)}, p90 ${ms(p90)}, p99 ${ms(p99)}, max ${ms(max)}`,
    ...undecidedText(summary),
    '',
    brokenReads === 0 ? 'No promise was broken.' : `${whole(brokenReads)} reads broke a promise.`,
    '',
  ].join('\n')
}

function undecidedText({ undecided }: HistorySummary): string[] {
  const { times, absence, withoutWrites, handOvers, lines, forgotten } = undecided
  const rows: (readonly [number, string])[] = [
    [times, 'reads: the clocks are not known well enough to decide whether a write came before'],
    [absence, 'reads found nothing, which an unrecorded deletion would explain (see --complete)'],
    [withoutWrites, 'reads of objects without a recorded write: the check was only that they do not go back'],
    [handOvers, 'sessions continue one whose token was not recorded'],
    [lines, 'lines belong to sessions that no earlier line mentions: was the beginning cut off?'],
    [forgotten, 'paths or sessions were dropped to limit memory: what they did before was forgotten'],
  ]
  const listed = rows.filter(([count]) => count > 0).map(([count, what]) => `  ${whole(count)} ${what}`)
  return listed.length === 0 ? [] : ['', 'Not decided:', ...listed]
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
