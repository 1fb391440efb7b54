/** The pages of the site, in order: written pages, and pages generated from the code. */
export interface SitePage {
  /** The path in the repository; undefined for generated pages. */
  readonly source?: string
  /** The path on the site, without `.html`. */
  readonly path: string
  readonly title: string
}

export interface PageGroup {
  readonly title: string
  readonly pages: readonly SitePage[]
}

function written(path: string, title: string, source = `docs/${path}.md`): SitePage {
  return { source, path, title }
}

export const GROUPS: readonly PageGroup[] = [
  {
    title: 'Begin',
    pages: [
      written('index', 'Freshet', 'README.md'),
      written('tutorials/first-steps', 'First steps'),
      written('tutorials/purge-race', 'A purge race'),
      written('concepts/promises', 'Promises'),
      written('figures', 'Figures'),
      written('guides/comparison', 'Comparison'),
      written('guides/instead-of-redis', 'Instead of Redis'),
      written('guides/and-postgrest', 'And PostgREST'),
      written('guides/and-firestore-supabase', 'And Firestore, Supabase'),
      written('guides/and-electric-zero', 'And Electric, Zero'),
    ],
  },
  {
    title: 'How it works',
    pages: [
      written('concepts/reads', 'How a read stays current'),
      written('concepts/positions', 'Positions, segments, sessions'),
      written('concepts/writes', 'How a write takes effect'),
      written('concepts/transactions', 'Transactions over cached reads'),
      written('concepts/exactly-once', 'Exactly once'),
      written('concepts/replicas', 'Current reads from replicas'),
      written('concepts/shards', 'One state of all shards'),
    ],
  },
  {
    title: 'Use',
    pages: [
      written('guides/queries', 'Queries'),
      written('guides/transactions', 'Transactions'),
      written('guides/counters-and-retries', 'Counters and retries'),
      written('guides/entities', 'Entities'),
      written('guides/schemas', 'Schemas'),
      written('guides/shards', 'Shards'),
      written('guides/existing-tables', 'Existing tables'),
    ],
  },
  {
    title: 'Caches',
    pages: [
      written('guides/varnish', 'Varnish'),
      written('guides/squid', 'Squid'),
      written('guides/nginx', 'nginx'),
      written('guides/haproxy', 'HAProxy'),
      written('guides/other-caches', 'Other caches and CDNs'),
      written('guides/browsers', 'Browsers'),
      written('deploy', 'All of them', 'deploy/README.md'),
      written('guides/doctor', 'The doctor'),
      written('reference/http-cache-tests', 'Cache tests'),
    ],
  },
  {
    title: 'Engines',
    pages: [
      written('guides/embedded', 'Embedded'),
      written('guides/sqlite', 'SQLite'),
      written('guides/postgres', 'PostgreSQL'),
      written('guides/mariadb', 'MariaDB'),
      written('guides/redis', 'Redis'),
      written('guides/cassandra', 'Cassandra'),
      written('guides/ring-store', 'Several as one'),
      written('guides/ring', 'Replicated cells'),
      written('guides/add-an-engine', 'Add an engine'),
    ],
  },
  {
    title: 'Run',
    pages: [
      written('guides/access', 'Access'),
      written('guides/operating', 'Running a server'),
      written('guides/console', 'Console'),
      written('guides/backups', 'Backups'),
      written('guides/upgrading', 'Upgrading'),
    ],
  },
  {
    title: 'Reference',
    pages: [
      { path: 'reference/client', title: 'Client API' },
      { path: 'reference/commands', title: 'Commands' },
      { path: 'reference/options', title: 'Options' },
      { path: 'reference/routes', title: 'HTTP' },
      { path: 'reference/metrics', title: 'Metrics' },
      written('errors', 'Error codes'),
      written('packages/client', 'Client', 'packages/client/README.md'),
      written('packages/server', 'Server', 'packages/server/README.md'),
      written('packages/cli', 'Command', 'packages/cli/README.md'),
      written('packages/engines', 'Stores', 'packages/engines/README.md'),
      written('packages/core', 'Core', 'packages/core/README.md'),
      written('packages/protocol', 'Protocol', 'packages/protocol/README.md'),
      written('packages/bloom', 'Filters', 'packages/bloom/README.md'),
      written('architecture', 'Architecture', 'ARCHITECTURE.md'),
      written('changelog', 'Changes', 'CHANGELOG.md'),
    ],
  },
]
