/**
 * The pages of the site, in order: written pages, and pages generated from the code. To add a written page, add a line to the topic
 * it belongs to. The navigation and the home page follow.
 */
export interface SitePage {
  /** The path in the repository; undefined for generated pages. */
  readonly source?: string
  /** The path on the site, without `.html`. */
  readonly path: string
  readonly title: string
}

export interface PageTopic {
  /** Missing if its group has no other topic. */
  readonly title?: string
  readonly pages: readonly SitePage[]
}

export interface PageGroup {
  readonly title: string
  /** What a reader finds in these pages, for the home page. */
  readonly about: string
  readonly topics: readonly PageTopic[]
  /** The home page shows the list of pages when it is unfolded. */
  readonly isLong?: true
}

function written(path: string, title: string, source = `docs/${path}.md`): SitePage {
  return { source, path, title }
}

/** Made from README.md by `home.ts`. */
export const HOME: SitePage = written('index', 'Freshet', 'README.md')

export const GROUPS: readonly PageGroup[] = [
  {
    title: 'Tutorials',
    about: 'Learn by doing, step by step.',
    topics: [
      {
        pages: [
          written('tutorials/first-steps', 'First steps'),
          written('tutorials/purge-race', 'A purge race'),
          written('tutorials/your-own-app', 'Your own app'),
        ],
      },
    ],
  },
  {
    title: 'Guides',
    about: 'Get one thing done.',
    topics: [
      {
        title: 'Choose',
        pages: [
          written('guides/comparison', 'Comparison'),
          written('guides/instead-of-redis', 'Instead of Redis'),
          written('guides/and-postgrest', 'And PostgREST'),
          written('guides/and-firestore-supabase', 'And Firestore, Supabase'),
          written('guides/and-electric-zero', 'And Electric, Zero'),
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
    ],
  },
  {
    title: 'Concepts',
    about: 'Understand how it works, and what it promises.',
    topics: [
      {
        pages: [
          written('concepts/promises', 'Promises'),
          written('concepts/reads', 'How a read stays current'),
          written('concepts/positions', 'Positions, segments, sessions'),
          written('concepts/writes', 'How a write takes effect'),
          written('concepts/transactions', 'Transactions over cached reads'),
          written('concepts/exactly-once', 'Exactly once'),
          written('concepts/replicas', 'Current reads from replicas'),
          written('concepts/shards', 'One state of all shards'),
        ],
      },
    ],
  },
  {
    title: 'Reference',
    about: 'Look up a method, an option, a route or an error.',
    topics: [
      {
        title: 'From the code',
        pages: [
          { path: 'reference/client', title: 'Client API' },
          { path: 'reference/commands', title: 'Commands' },
          { path: 'reference/options', title: 'Options' },
          { path: 'reference/routes', title: 'HTTP' },
          { path: 'reference/metrics', title: 'Metrics' },
          written('errors', 'Error codes'),
        ],
      },
      {
        title: 'Packages',
        pages: [
          written('packages/client', 'Client', 'packages/client/README.md'),
          written('packages/server', 'Server', 'packages/server/README.md'),
          written('packages/cli', 'Command', 'packages/cli/README.md'),
          written('packages/engines', 'Stores', 'packages/engines/README.md'),
          written('packages/core', 'Core', 'packages/core/README.md'),
          written('packages/protocol', 'Protocol', 'packages/protocol/README.md'),
          written('packages/bloom', 'Filters', 'packages/bloom/README.md'),
        ],
      },
      {
        title: 'The project',
        pages: [
          written('figures', 'Figures'),
          written('reference/http-cache-tests', 'Cache tests'),
          written('architecture', 'Architecture', 'ARCHITECTURE.md'),
          written('changelog', 'Changes', 'CHANGELOG.md'),
        ],
      },
    ],
  },
]

export function pagesOf({ topics }: PageGroup): readonly SitePage[] {
  return topics.flatMap(({ pages }) => pages)
}

/** Where the page's Markdown is, or would be, in the repository: links in it are relative to this path. */
export function sourceOf({ source, path }: SitePage): string {
  return source ?? `docs/${path}.md`
}
