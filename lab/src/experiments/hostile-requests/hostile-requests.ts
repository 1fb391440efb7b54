/**
 * Two tenants, people with good tokens and with forged ones, and requests that try every door, through each cache: with the shipped
 * configuration, and through an nginx that knows nothing of permissions. Nobody is shown a byte of another's; nothing fails within
 * the server; no error and nothing private is kept. Tokens that are none, and purges from outside, are refused each way.
 */
import { endCaches, type RunningCache } from '../../caches/cache-process.js'
import { startNginx } from '../../caches/nginx.js'
import { requireCaches } from '../../caches/require-caches.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { acceptedPurges, wrongTokenAnswers } from '../../hostile-load/ask-plainly.js'
import { type HostileOutcome, runHostileLoad } from '../../hostile-load/run-hostile-load.js'
import { startTenantsServer } from '../../hostile-load/tenants-server.js'

/** Half of them are malformed: more than a hundred thousand. */
const FULL = 210_000
const QUICK = 5000

/** Those that may be between a server and its readers. */
export const WAYS: readonly { readonly name: string; start(origin: string): Promise<Pick<RunningCache, 'url'>> }[] = [
  { name: 'straight', start: async origin => ({ url: origin }) },
  { name: 'Varnish', start: origin => startVarnish({ origin }) },
  { name: 'Squid', start: origin => startSquid({ origin }) },
  { name: 'nginx', start: origin => startNginx({ origin }) },
  {
    name: 'nginx that keeps all it may',
    start: origin => startNginx({ origin, rules: 'proxy_cache_key $request_uri;' }),
  },
]

interface Row extends HostileOutcome {
  readonly way: string
  readonly wrongTokens: readonly string[]
  readonly purges: readonly string[]
}

export const hostileRequests: Experiment = {
  name: 'hostile-requests',
  title: 'Two tenants and hostile requests through every cache: nothing leaks, fails or is kept',
  source: 'ours',
  async run(context) {
    requireCaches(['varnish', 'squid', 'nginx'])
    const rows: Row[] = []
    for (const way of WAYS) rows.push(await oneWay(way, context, rows.length))
    return toResult(rows)
  },
}

async function oneWay(
  way: (typeof WAYS)[number],
  { quick, random, progress }: ExperimentContext,
  done: number,
): Promise<Row> {
  const requests = Math.ceil((quick ? QUICK : FULL) / WAYS.length)
  const server = await startTenantsServer()
  try {
    const { url } = await way.start(server.url)
    const outcome = await runHostileLoad({
      port: Number(new URL(url).port),
      people: server.people,
      requests,
      random: random.fork(way.name),
      onProgress: sent => progress(done * requests + sent, WAYS.length * requests, way.name),
    })
    const { people } = server
    const wrongTokens = await wrongTokenAnswers(url, people)
    return { way: way.name, ...outcome, wrongTokens, purges: await acceptedPurges(url, people) }
  } finally {
    await endCaches()
    await server.stop()
  }
}

function toResult(rows: readonly Row[]): ExperimentResult {
  const all = <Value>(pick: (row: Row) => readonly Value[]) => rows.flatMap(pick)
  const [leaks, failures, kept] = [all(row => row.leaks), all(row => row.ownFailures), all(row => row.kept)]
  const [tokens, purges] = [all(row => row.wrongTokens), all(row => row.purges)]
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const malformed = rows.reduce((sum, row) => sum + row.malformed, 0)
  const isSeen = rows.every(({ ownShown, publicShown }) => ownShown > 0 && publicShown > 0)
  return {
    summary: { requests, malformed, leaks: leaks.length, failures: failures.length, kept: kept.length, rows },
    tables: [
      {
        title: 'Answers, by way',
        columns: [
          'way',
          'requests',
          'malformed',
          'answered',
          '2xx',
          '3xx',
          '4xx',
          '5xx of the cache',
          'own shown',
          'public shown',
          'leaks',
        ],
        rows: rows.map(({ way, byClass, ...row }) => [
          ...[
            way,
            row.requests,
            row.malformed,
            row.answered,
            byClass['2xx'] ?? 0,
            byClass['3xx'] ?? 0,
            byClass['4xx'] ?? 0,
          ],
          ...[spellStatuses(row.othersStatuses), row.ownShown, row.publicShown, row.leaks.length],
        ]),
      },
    ],
    plots: [],
    verdicts: [
      {
        claim: 'No byte of one tenant reaches another, nor anybody else',
        holds: leaks.length === 0,
        detail: detailOf(leaks),
      },
      { claim: 'No request makes the server fail (5xx)', holds: failures.length === 0, detail: detailOf(failures) },
      { claim: 'No error and nothing private may be kept, or was', holds: kept.length === 0, detail: detailOf(kept) },
      {
        claim: 'Expired, forged and unsigned tokens, and those for others, are refused each way',
        holds: tokens.length === 0,
        detail: detailOf(tokens),
      },
      { claim: 'Purges from outside are refused each way', holds: purges.length === 0, detail: detailOf(purges) },
      {
        claim: 'Everybody is shown what is theirs, and what is public',
        holds: isSeen,
        detail: `${requests} requests, ${malformed} of them malformed`,
      },
    ],
  }
}

function spellStatuses(statuses: Readonly<Record<string, number>>): string {
  const all = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
  return all.length === 0 ? '0' : all.join(', ')
}

function detailOf(found: readonly string[]): string {
  return found.length === 0 ? 'none' : found.join('\n')
}
