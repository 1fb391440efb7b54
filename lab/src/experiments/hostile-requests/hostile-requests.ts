/**
 * Two tenants, users with valid tokens and with forged ones, and requests to every API, through each cache: with the shipped
 * configuration, and through an nginx that knows nothing of permissions. No user is shown a byte of another tenant's data, the
 * server never fails internally, and no error or private answer is cached. Invalid tokens, and purges from outside, are
 * refused through each cache.
 *
 * Then every route and method, in spellings of every kind, as an anonymous caller, a stranger with a token, a tenant, an owner
 * and an admin. The requests go to two servers that differ only in what the first three callers may not see. Finally, bodies
 * that are meant to use up the memory of a server.
 */
import { endCaches, type RunningCache } from '../../caches/cache-process.js'
import { startNginx } from '../../caches/nginx.js'
import { requireCaches } from '../../caches/require-caches.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { acceptedPurges, wrongTokenAnswers } from '../../hostile-load/ask-plainly.js'
import { compareTwins, type TwinOutcome } from '../../hostile-load/compare-twins.js'
import { exhaustMemory, type MemoryOutcome } from '../../hostile-load/exhaust-memory.js'
import { type HostileOutcome, runHostileLoad } from '../../hostile-load/run-hostile-load.js'
import { startTenantsServer } from '../../hostile-load/tenants-server.js'

/** Half of the requests are malformed: more than a hundred thousand. `doors`: to every door; `pieces`: to use up memory. */
const FULL = { requests: 210_000, doors: 60_000, pieces: 2_000_000 }
const QUICK = { requests: 5000, doors: 4000, pieces: 200_000 }
/** Twice the limit for all bodies together (`receivedBytesMax`): an outgrown buffer is freed a little later. */
const MEMORY_GROWTH_MIB_MAX = 256

/** What may stand between a server and its readers. */
export const WAYS: readonly { readonly name: string; start(origin: string): Promise<Pick<RunningCache, 'url'>> }[] = [
  { name: 'straight', start: async origin => ({ url: origin }) },
  { name: 'Varnish', start: origin => startVarnish({ origin }) },
  { name: 'Squid', start: origin => startSquid({ origin }) },
  { name: 'nginx', start: origin => startNginx({ origin }) },
  {
    name: 'nginx that caches all it may',
    start: origin => startNginx({ origin, rules: 'proxy_cache_key $request_uri;' }),
  },
]

interface Row extends HostileOutcome {
  readonly way: string
  readonly wrongTokens: readonly string[]
  readonly purges: readonly string[]
}

export const hostileRequests: Experiment = {
  source: 'ours',
  async run(context) {
    requireCaches(['varnish', 'squid', 'nginx'])
    const rows: Row[] = []
    for (const way of WAYS) rows.push(await oneWay(way, context, rows.length))
    const { quick, random, progress } = context
    const requests = (quick ? QUICK : FULL).doors
    const onProgress = (done: number) => progress(done, requests, 'every door')
    const doors = await compareTwins({ requests, random: random.fork('doors'), onProgress })
    return toResult(rows, doors, await exhaustMemory((quick ? QUICK : FULL).pieces))
  },
}

async function oneWay(
  way: (typeof WAYS)[number],
  { quick, random, progress }: ExperimentContext,
  done: number,
): Promise<Row> {
  const requests = Math.ceil((quick ? QUICK : FULL).requests / WAYS.length)
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

function toResult(rows: readonly Row[], doors: TwinOutcome, memory: MemoryOutcome): ExperimentResult {
  const all = <Value>(pick: (row: Row) => readonly Value[]) => rows.flatMap(pick)
  const [leaks, failures, kept] = [all(row => row.leaks), all(row => row.ownFailures), all(row => row.kept)]
  const [tokens, purges] = [all(row => row.wrongTokens), all(row => row.purges)]
  const requests = rows.reduce((sum, row) => sum + row.requests, doors.requests)
  const malformed = rows.reduce((sum, row) => sum + row.malformed, 0)
  const isSeen = rows.every(({ ownShown, publicShown }) => ownShown > 0 && publicShown > 0)
  return {
    summary: {
      requests,
      leaks: leaks.length + doors.leakCount,
      serverErrors: failures.length + doors.serverErrorCount,
      storedByStrangers: doors.storedByStrangers,
      memoryGrowthMiB: memory.growthMiB,
      ...{ malformed, kept: kept.length, rows, doors, memory },
    },
    tables: [
      {
        title: 'Every route, by role',
        columns: ['role', '2xx', '3xx', '4xx', '5xx', 'closed'],
        rows: Object.entries(doors.byRole).map(([role, counts]) => [
          role,
          ...['2xx', '3xx', '4xx', '5xx', 'closed'].map(kind => counts[kind] ?? 0),
        ]),
      },
      {
        title: 'Memory, MiB',
        columns: ['attack', 'grew by'],
        rows: [...memory.attacks.map(({ name, growthMiB }) => [name, growthMiB]), ['at the end', memory.lastingMiB]],
      },
      {
        title: 'Answers, by cache',
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
        claim: "No byte of a tenant's data reaches another user",
        holds: leaks.length === 0,
        detail: detailOf(leaks),
      },
      { claim: 'No request makes the server fail (5xx)', holds: failures.length === 0, detail: detailOf(failures) },
      {
        claim: 'No error and no private answer was cacheable or cached',
        holds: kept.length === 0,
        detail: detailOf(kept),
      },
      {
        claim: 'Expired, forged and unsigned tokens, and tokens for another audience, are refused through each cache',
        holds: tokens.length === 0,
        detail: detailOf(tokens),
      },
      {
        claim: 'Purges from outside are refused through each cache',
        holds: purges.length === 0,
        detail: detailOf(purges),
      },
      ...verdictsOf(doors, memory),
      {
        claim: 'Every user sees their own data and public data',
        holds: isSeen,
        detail: `${requests} requests, ${malformed} of them malformed`,
      },
    ],
  }
}

function verdictsOf(doors: TwinOutcome, { growthMiB, othersStatus }: MemoryOutcome): readonly Verdict[] {
  return [
    {
      claim: 'Callers get the same bytes, whatever hidden data exists',
      holds: doors.leakCount === 0,
      detail: detailOf(doors.leaks),
    },
    {
      claim: 'No role makes the server fail on any route',
      holds: doors.serverErrorCount === 0,
      detail: detailOf(doors.serverErrors),
    },
    {
      claim: 'The server stores nothing for strangers',
      holds: doors.storedByStrangers === 0,
      detail: `${doors.storedByStrangers} commits and operations`,
    },
    {
      claim: `No body makes the server grow by more than ${MEMORY_GROWTH_MIB_MAX} MiB, and other clients are served meanwhile`,
      holds: growthMiB <= MEMORY_GROWTH_MIB_MAX && othersStatus === 200,
      detail: `${growthMiB} MiB; a client from another address got status ${othersStatus}`,
    },
  ]
}

function spellStatuses(statuses: Readonly<Record<string, number>>): string {
  const all = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
  return all.length === 0 ? '0' : all.join(', ')
}

function detailOf(found: readonly string[]): string {
  return found.length === 0 ? 'none' : found.join('\n')
}
