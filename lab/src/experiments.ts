/** All experiments, in the order in which `npm run lab -- all` runs them. Each is loaded only when it is run. */
import type { ExperimentEntry } from './harness/experiment.js'

export const experiments: readonly ExperimentEntry[] = [
  {
    name: 'filter-load',
    title: 'The false-positive rate when more or fewer keys arrive than the filter was sized for',
    load: async () => (await import('./experiments/filter-load.js')).filterLoad,
  },
  {
    name: 'hash-quality',
    title: 'How uniform hash functions are, and the effect on the false-positive rate',
    load: async () => (await import('./experiments/hash-quality/hash-quality.js')).hashQuality,
  },
  {
    name: 'fbf-8',
    title: 'Forgetful filter: the optimised membership check compared with the simple one',
    load: async () => (await import('./experiments/fbf/fbf-8.js')).fbf8,
  },
  {
    name: 'fbf-9',
    title: 'Forgetful filter: estimated and measured false-positive rate, by number of elements',
    load: async () => (await import('./experiments/fbf/fbf-9.js')).fbf9,
  },
  {
    name: 'fbf-10',
    title: 'Forgetful filter: estimated and measured false-positive rate, by size',
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
    title: 'Counters over an unreliable network with server kills: exact with operation ids, wrong without',
    load: async () => (await import('./experiments/fbf/fbf-14.js')).fbf14,
  },
  {
    name: 'fbf-14-engines',
    title:
      'Counters in PostgreSQL, MariaDB, Redis and SQLite, servers and a replica killed: exact with operation ids, wrong without',
    load: async () => (await import('./experiments/fbf/fbf-14-engines.js')).fbf14Engines,
  },
  {
    name: 'fbf-15',
    title: 'Batches of 50 additions, with operation ids and without: how much slower exactly-once is',
    load: async () => (await import('./experiments/fbf/fbf-15.js')).fbf15,
  },
  {
    name: 'fbf-16',
    title: 'Counters with retries: a forgetful filter and a recyclable filter of the same size',
    load: async () => (await import('./experiments/fbf/fbf-16.js')).fbf16,
  },
  {
    name: 'fbf-17',
    title: "Counters in real Cassandra over a bad connection: Cassandra's own are wrong, Freshet's are exact",
    load: async () => (await import('./experiments/fbf/fbf-17.js')).fbf17,
  },
  {
    name: 'operations-memory',
    title: 'Memory needed to remember an operation: our ids, foreign ids, a Map, Redis',
    load: async () => (await import('./experiments/operations-memory.js')).operationsMemory,
  },
  {
    name: 'windowed',
    title: 'Windowed filters: bits per remembered key at equal error, speed, and behaviour when overloaded',
    load: async () => (await import('./experiments/windowed/windowed.js')).windowed,
  },
  {
    name: 'coherence-simulated',
    title: 'Reads through misbehaving caches: plain, with revalidation, and under URLs that no stale copy can have',
    load: async () => (await import('./experiments/coherence-simulated/coherence-simulated.js')).coherenceSimulated,
  },
  {
    name: 'agg-truth',
    title: 'Query results over shards during writes, kills and stalls: always of one state, and never backwards',
    load: async () => (await import('./experiments/aggregates/agg-truth.js')).aggTruth,
  },
  {
    name: 'agg-table1',
    title: 'A table scan over 1 to 9 shards during writes to all of them',
    load: async () => (await import('./experiments/aggregates/agg-table1.js')).aggTable1,
  },
  {
    name: 'lifetimes',
    title: 'Lifetimes learnt per key and the best fixed lifetime: hits, wasted requests, outdated copies, sketch size',
    load: async () => (await import('./experiments/lifetimes/lifetimes.js')).lifetimes,
  },
  {
    name: 'coherence',
    title: 'Reads through real caches under every kind of fault: what sessions see, and what plain reads see',
    load: async () => (await import('./experiments/coherence/coherence.js')).coherence,
  },
  {
    name: 'query-coherence',
    title: 'Queries through real caches under every kind of fault: what sessions see, and what plain reads see',
    load: async () => (await import('./experiments/query-coherence/query-coherence.js')).queryCoherence,
  },
  {
    name: 'coherence-engines',
    title:
      'Reads through real caches, two servers over PostgreSQL, MariaDB, Redis, Cassandra and SQLite, one killed at random',
    load: async () => (await import('./experiments/coherence-engines/coherence-engines.js')).coherenceEngines,
  },
  {
    name: 'stalls',
    title: 'Reads through Varnish while servers, backends, connections and readers stall for up to ten seconds',
    load: async () => (await import('./experiments/stalls/stalls.js')).stalls,
  },
  {
    name: 'coherence-in-browser',
    title: 'Reads by pages in Chromium, through its cache, Squid and Varnish: what sessions see, and what fetch sees',
    load: async () => (await import('./experiments/coherence-in-browser/coherence-in-browser.js')).coherenceInBrowser,
  },
  {
    name: 'orestes-24',
    title: 'Fifty clients far from the server: how much faster caches make them, with every read checked',
    load: async () => (await import('./experiments/orestes/orestes-24.js')).orestes24,
  },
  {
    name: 'orestes-39',
    title: 'Transactions that read through a cache: abort rate without and with the filter',
    load: async () => (await import('./experiments/orestes/orestes-39.js')).orestes39,
  },
  {
    name: 'orestes-table12',
    title: 'Posts that travel along a chain of clients: how fast they arrive, and how many transactions roll back',
    load: async () => (await import('./experiments/orestes/orestes-table12.js')).orestesTable12,
  },
  {
    name: 'http-cache-tests',
    title: 'Caches with our configurations: the public test suite for HTTP caches',
    load: async () => (await import('./experiments/http-cache-tests/http-cache-tests.js')).httpCacheTests,
  },
  {
    name: 'openapi',
    title:
      'Requests generated from /openapi.json, without rules, as a stranger and as an admin: no 5xx, and every answer matches it',
    load: async () => (await import('./experiments/openapi/openapi.js')).openapi,
  },
  {
    name: 'hostile-requests',
    title: 'Hostile requests to every API and through every cache: nothing leaks, fails, is cached or exhausts memory',
    load: async () => (await import('./experiments/hostile-requests/hostile-requests.js')).hostileRequests,
  },
  {
    name: 'damage',
    title: 'Flipped bytes in the file of the embedded store: harmless or detected, never served',
    load: async () => (await import('./experiments/damage/damage.js')).damage,
  },
  {
    name: 'transaction-history',
    title: 'Transactions over cached reads with server kills: whether they are serialisable, and how many are refused',
    load: async () => (await import('./experiments/transaction-history/transaction-history.js')).transactionHistory,
  },
  {
    name: 'transactions',
    title: 'Transactions far from their server: refused and committed by contention, with leases, and in PostgreSQL',
    load: async () => (await import('./experiments/transactions/transactions.js')).transactions,
  },
  {
    name: 'clocks',
    title: 'Clocks: what logical clocks say about order, and the error of estimates of a remote clock',
    load: async () => (await import('./experiments/clocks/clocks.js')).clocks,
  },
  {
    name: 'kts-6',
    title: 'Current reads from replicas: real peers over TCP, by number of peers, and while they leave, crash and join',
    load: async () => (await import('./experiments/kts/kts-6.js')).kts6,
  },
  {
    name: 'kts-7',
    title: 'Current reads from replicas: response time by number of peers',
    load: async () => (await import('./experiments/kts/kts-7.js')).kts7,
  },
  {
    name: 'kts-8',
    title: 'Current reads from replicas: messages by number of peers',
    load: async () => (await import('./experiments/kts/kts-8.js')).kts8,
  },
  {
    name: 'kts-9',
    title: 'Current reads from replicas: response time by number of replicas',
    load: async () => (await import('./experiments/kts/kts-9.js')).kts9,
  },
  {
    name: 'kts-10',
    title: 'Current reads from replicas: messages by number of replicas',
    load: async () => (await import('./experiments/kts/kts-10.js')).kts10,
  },
  {
    name: 'kts-11',
    title: 'Current reads from replicas: response time by failure rate',
    load: async () => (await import('./experiments/kts/kts-11.js')).kts11,
  },
  {
    name: 'kts-12',
    title: 'Current reads from replicas: response time by update frequency',
    load: async () => (await import('./experiments/kts/kts-12.js')).kts12,
  },
  {
    name: 'kts-expected',
    title: 'Current reads from replicas: replicas fetched, replicas current and counters found, compared with theory',
    load: async () => (await import('./experiments/kts/kts-expected.js')).ktsExpected,
  },
  {
    name: 'kts-at-once',
    title: 'Current reads from replicas: one request after the other, and several at once',
    load: async () => (await import('./experiments/kts/kts-at-once.js')).ktsAtOnce,
  },
  {
    name: 'kts-scale',
    title: 'Current reads from replicas: 100 000 peers in one process',
    load: async () => (await import('./experiments/kts/kts-scale.js')).ktsScale,
  },
  {
    name: 'kts-safety',
    title: 'Timestamps per key under every kind of fault: never issued twice, never falsely current',
    load: async () => (await import('./experiments/kts/kts-safety.js')).ktsSafety,
  },
  {
    name: 'ring-safety',
    title: 'A replicated store under every kind of fault: no acknowledged write is lost, no read is falsely current',
    load: async () => (await import('./experiments/ring/ring-safety.js')).ringSafety,
  },
  {
    name: 'agreement-safety',
    title: 'A replicated log under every kind of fault: no slot holds two values',
    load: async () => (await import('./experiments/agreement/agreement-safety.js')).agreementSafety,
  },
]
