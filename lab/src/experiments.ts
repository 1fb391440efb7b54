/** All experiments, in the order in which `npm run lab -- all` runs them. Each is loaded only when it is run. */
import type { ExperimentEntry } from './harness/experiment.js'

export const experiments: readonly ExperimentEntry[] = [
  {
    name: 'filter-load',
    title: 'The false-positive rate when more or fewer keys arrive than were planned for',
    load: async () => (await import('./experiments/filter-load.js')).filterLoad,
  },
  {
    name: 'hash-quality',
    title: 'How uniform hash functions are, and what it means for the false-positive rate',
    load: async () => (await import('./experiments/hash-quality/hash-quality.js')).hashQuality,
  },
  {
    name: 'fbf-8',
    title: 'Forgetful filter: the optimised membership check against the simple one',
    load: async () => (await import('./experiments/fbf/fbf-8.js')).fbf8,
  },
  {
    name: 'fbf-9',
    title: 'Forgetful filter: the estimated false-positive rate against the measured one, by number of elements',
    load: async () => (await import('./experiments/fbf/fbf-9.js')).fbf9,
  },
  {
    name: 'fbf-10',
    title: 'Forgetful filter: the estimated false-positive rate against the measured one, by size',
    load: async () => (await import('./experiments/fbf/fbf-10.js')).fbf10,
  },
  {
    name: 'fbf-11',
    title: 'Forgetful filter: the false-positive rate falls with the refresh period',
    load: async () => (await import('./experiments/fbf/fbf-11.js')).fbf11,
  },
  {
    name: 'fbf-12',
    title: 'Forgetful filter: the false-positive rate falls with the number of filters while the load grows',
    load: async () => (await import('./experiments/fbf/fbf-12.js')).fbf12,
  },
  {
    name: 'fbf-13',
    title: 'Forgetful filter: adaptation keeps the false-positive rate below its target',
    load: async () => (await import('./experiments/fbf/fbf-13.js')).fbf13,
  },
  {
    name: 'fbf-14',
    title: 'Counters through an unreliable network, the server killed: with ids exact, without them wrong',
    load: async () => (await import('./experiments/fbf/fbf-14.js')).fbf14,
  },
  {
    name: 'fbf-14-engines',
    title:
      'Counters in PostgreSQL, MariaDB, Redis and SQLite, servers and a replica killed: with ids exact, without them wrong',
    load: async () => (await import('./experiments/fbf/fbf-14-engines.js')).fbf14Engines,
  },
  {
    name: 'fbf-15',
    title: 'Batches of 50 additions, each with an id and none: how much slower exactly once is',
    load: async () => (await import('./experiments/fbf/fbf-15.js')).fbf15,
  },
  {
    name: 'fbf-16',
    title: 'Counters with retries: a forgetful filter against a recyclable one of the same size',
    load: async () => (await import('./experiments/fbf/fbf-16.js')).fbf16,
  },
  {
    name: 'fbf-17',
    title: "Counters in real Cassandra over a bad line: its own are wrong, Freshet's over it are exact",
    load: async () => (await import('./experiments/fbf/fbf-17.js')).fbf17,
  },
  {
    name: 'operations-memory',
    title: 'What it takes to remember an operation: our ids, foreign ones, a Map, Redis',
    load: async () => (await import('./experiments/operations-memory.js')).operationsMemory,
  },
  {
    name: 'windowed',
    title: 'Windowed filters: bits for each remembered key at equal error, speed, and behaviour at overload',
    load: async () => (await import('./experiments/windowed/windowed.js')).windowed,
  },
  {
    name: 'coherence-simulated',
    title: 'Reads through caches that misbehave: plain, with revalidation, and under URLs no stale copy can have',
    load: async () => (await import('./experiments/coherence-simulated/coherence-simulated.js')).coherenceSimulated,
  },
  {
    name: 'agg-truth',
    title:
      'Results over shards while all of them are written to, killed and held up: of one state, and never backwards',
    load: async () => (await import('./experiments/aggregates/agg-truth.js')).aggTruth,
  },
  {
    name: 'agg-table1',
    title: 'A table scan over 1 to 9 shards, while all of them are written to',
    load: async () => (await import('./experiments/aggregates/agg-table1.js')).aggTable1,
  },
  {
    name: 'lifetimes',
    title: 'Lifetimes learnt per key against the best fixed one: hits, requests in vain, outdated copies, the sketch',
    load: async () => (await import('./experiments/lifetimes/lifetimes.js')).lifetimes,
  },
  {
    name: 'coherence',
    title: 'Reads through real caches while everything goes wrong: what sessions see, and what plain reads see',
    load: async () => (await import('./experiments/coherence/coherence.js')).coherence,
  },
  {
    name: 'query-coherence',
    title: 'Queries through real caches while everything goes wrong: what sessions see, and what plain reads see',
    load: async () => (await import('./experiments/query-coherence/query-coherence.js')).queryCoherence,
  },
  {
    name: 'coherence-engines',
    title:
      'Reads through real caches before two servers over PostgreSQL, MariaDB, Redis, Cassandra and SQLite, one of them killed at random',
    load: async () => (await import('./experiments/coherence-engines/coherence-engines.js')).coherenceEngines,
  },
  {
    name: 'stalls',
    title: 'Reads through Varnish while servers, backends, connections and readers stand still for up to ten seconds',
    load: async () => (await import('./experiments/stalls/stalls.js')).stalls,
  },
  {
    name: 'coherence-in-browser',
    title: 'Reads of pages in Chromium, through its cache, Squid and Varnish: what sessions see, and what fetch sees',
    load: async () => (await import('./experiments/coherence-in-browser/coherence-in-browser.js')).coherenceInBrowser,
  },
  {
    name: 'orestes-24',
    title: 'Fifty clients far from the server: how much faster they are through caches, with every read checked',
    load: async () => (await import('./experiments/orestes/orestes-24.js')).orestes24,
  },
  {
    name: 'orestes-39',
    title: 'Transactions that read through a cache: how many abort without the filter, and with it',
    load: async () => (await import('./experiments/orestes/orestes-39.js')).orestes39,
  },
  {
    name: 'orestes-table12',
    title: 'Posts that travel along a chain of clients: how fast, and how many transactions are rolled back',
    load: async () => (await import('./experiments/orestes/orestes-table12.js')).orestesTable12,
  },
  {
    name: 'http-cache-tests',
    title: 'What caches do with our configurations: the public suite of tests for HTTP caches',
    load: async () => (await import('./experiments/http-cache-tests/http-cache-tests.js')).httpCacheTests,
  },
  {
    name: 'openapi',
    title:
      'Requests made from /openapi.json, without rules, as a stranger and as an admin: no 5xx, and answers as it says',
    load: async () => (await import('./experiments/openapi/openapi.js')).openapi,
  },
  {
    name: 'hostile-requests',
    title: 'Hostile requests at every door and through every cache: nothing leaks, fails, is kept or uses up memory',
    load: async () => (await import('./experiments/hostile-requests/hostile-requests.js')).hostileRequests,
  },
  {
    name: 'damage',
    title: 'Flipped bytes in the file of the embedded store: harmless, or detected, never served',
    load: async () => (await import('./experiments/damage/damage.js')).damage,
  },
  {
    name: 'transaction-history',
    title: 'Transactions over cached reads while the server is killed: are they serialisable, and how many are refused',
    load: async () => (await import('./experiments/transaction-history/transaction-history.js')).transactionHistory,
  },
  {
    name: 'transactions',
    title: 'Transactions far from their server: refused and done by contention, with leases, and against PostgreSQL',
    load: async () => (await import('./experiments/transactions/transactions.js')).transactions,
  },
  {
    name: 'clocks',
    title: 'Clocks: what logical clocks say about order, and how far off estimates of another clock are',
    load: async () => (await import('./experiments/clocks/clocks.js')).clocks,
  },
  {
    name: 'kts-6',
    title: 'Current reads from replicas: real peers over TCP, by their number, and while they leave, crash and join',
    load: async () => (await import('./experiments/kts/kts-6.js')).kts6,
  },
  {
    name: 'kts-7',
    title: 'Current reads from replicas: response time by the number of peers',
    load: async () => (await import('./experiments/kts/kts-7.js')).kts7,
  },
  {
    name: 'kts-8',
    title: 'Current reads from replicas: messages by the number of peers',
    load: async () => (await import('./experiments/kts/kts-8.js')).kts8,
  },
  {
    name: 'kts-9',
    title: 'Current reads from replicas: response time by the number of replicas',
    load: async () => (await import('./experiments/kts/kts-9.js')).kts9,
  },
  {
    name: 'kts-10',
    title: 'Current reads from replicas: messages by the number of replicas',
    load: async () => (await import('./experiments/kts/kts-10.js')).kts10,
  },
  {
    name: 'kts-11',
    title: 'Current reads from replicas: response time by the failure rate',
    load: async () => (await import('./experiments/kts/kts-11.js')).kts11,
  },
  {
    name: 'kts-12',
    title: 'Current reads from replicas: response time by the frequency of updates',
    load: async () => (await import('./experiments/kts/kts-12.js')).kts12,
  },
  {
    name: 'kts-expected',
    title: 'Current reads from replicas: replicas fetched, replicas current and counters found, against theory',
    load: async () => (await import('./experiments/kts/kts-expected.js')).ktsExpected,
  },
  {
    name: 'kts-at-once',
    title: 'Current reads from replicas: one question after the other, and several at once',
    load: async () => (await import('./experiments/kts/kts-at-once.js')).ktsAtOnce,
  },
  {
    name: 'kts-scale',
    title: 'Current reads from replicas: 100 000 peers in one process',
    load: async () => (await import('./experiments/kts/kts-scale.js')).ktsScale,
  },
  {
    name: 'kts-safety',
    title: 'Timestamps by key while everything goes wrong: never twice, and never falsely current',
    load: async () => (await import('./experiments/kts/kts-safety.js')).ktsSafety,
  },
  {
    name: 'ring-safety',
    title: 'A replicated store while everything goes wrong: nothing acknowledged is lost, nothing is falsely current',
    load: async () => (await import('./experiments/ring/ring-safety.js')).ringSafety,
  },
  {
    name: 'agreement-safety',
    title: 'A log that several nodes remember, while everything goes wrong: no slot holds two things',
    load: async () => (await import('./experiments/agreement/agreement-safety.js')).agreementSafety,
  },
]
