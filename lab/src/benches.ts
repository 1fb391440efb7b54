/** All benches. Each is loaded only when it is run. */
import type { EngineName } from './engines/engine-name.js'
import type { BenchEntry } from './harness/bench.js'

export const benches: readonly BenchEntry[] = [
  {
    name: 'bloom',
    title: 'Bloom filters: ours and those on npm, in Node and in Chromium',
    load: async () => (await import('./bench/bloom/bloom.js')).bloom,
  },
  {
    name: 'http',
    title: 'Reads over HTTP: Freshet on its embedded store, compared with a bare node:http server',
    load: async () => (await import('./bench/http/http.js')).http,
  },
  {
    name: 'commit',
    title: 'Durable commits: the embedded store, compared with its bare engine',
    load: async () => (await import('./bench/commit/commit.js')).commit,
  },
  {
    name: 'counters',
    title: 'Additions that count exactly once, compared with additions without ids, one by one, and in Redis',
    load: async () => (await import('./bench/counters/counters.js')).counters,
  },
  {
    name: 'indexes',
    title: 'Durable commits to a bucket with indexes, compared with a bucket without',
    load: async () => (await import('./bench/indexes/indexes.js')).indexes,
  },
  {
    name: 'engines',
    title:
      'Commits and reads in PostgreSQL, MariaDB, Redis, Cassandra and SQLite: the stores, compared with the bare drivers',
    load: async () => (await import('./bench/engines/engines.js')).engines,
  },
  oneEngine('engines-postgresql', 'PostgreSQL'),
  oneEngine('engines-mariadb', 'MariaDB'),
  oneEngine('engines-redis', 'Redis'),
  oneEngine('engines-cassandra', 'Cassandra'),
  oneEngine('engines-sqlite', 'SQLite'),
  {
    name: 'currency',
    title:
      'Current reads from three nodes of PostgreSQL and Redis: nodes asked and time, compared with QUORUM and the primary',
    load: async () => (await import('./bench/currency/currency.js')).currency,
  },
  {
    name: 'ring',
    title: 'Commits and reads in a ring of three Redis servers, compared with a single Redis',
    load: async () => (await import('./bench/ring/ring.js')).ring,
  },
  {
    name: 'aggregates',
    title: 'Averages over shards: cached and computed again, compared with a naive fan-out and a single server',
    load: async () => (await import('./bench/aggregates/aggregates.js')).aggregates,
  },
  {
    name: 'redis-filter',
    title: 'A Bloom filter in Redis: ours, compared with a round trip for each bit',
    load: async () => (await import('./bench/redis-filter/redis-filter.js')).redisFilter,
  },
  {
    name: 'coherence',
    title: 'Reads through a shared cache, never stale, compared with reads from a server 165 ms away',
    load: async () => (await import('./bench/coherence/coherence.js')).coherence,
  },
  {
    name: 'peers',
    title:
      'Reads, writes and stale reads: Freshet, PocketBase, parse-server, json-server, D1, and Redis invalidated by hand',
    load: async () => (await import('./bench/peers/peers.js')).peers,
  },
  {
    name: 'structure',
    title:
      'How much code a request runs through, import cycles between folders, and the size of the store and its engines in lines',
    load: async () => (await import('./bench/structure/structure.js')).structure,
  },
]

function oneEngine(name: string, engine: EngineName): BenchEntry {
  return {
    name,
    title: `Commits and reads in ${engine}: the store, compared with the bare driver`,
    load: async () => (await import('./bench/engines/engines.js')).engineBench(engine),
  }
}
