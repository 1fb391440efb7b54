/** The pages in the order of the menu. All but the first are loaded when they are opened. */
import type { ComponentType } from 'preact'
import { Overview } from './pages/overview.js'
import type { ServerFacts } from './server/server-facts.js'

export interface PageEntry {
  /** In the address. */
  readonly name: string
  readonly title: string
  /** `g` and then this opens it. */
  readonly key: string
  readonly load: () => Promise<ComponentType>
  /** Whether the page is in the menu of such a server. */
  readonly isShown?: (facts: ServerFacts) => boolean
}

export const PAGES: readonly PageEntry[] = [
  { name: 'overview', title: 'Overview', key: 'o', load: async () => Overview },
  { name: 'data', title: 'Data', key: 'd', load: async () => (await import('./pages/data.js')).DataPage },
  { name: 'schema', title: 'Schema', key: 's', load: async () => (await import('./pages/schema.js')).SchemaPage },
  {
    name: 'queries',
    title: 'Queries',
    key: 'q',
    load: async () => (await import('./pages/queries.js')).QueriesPage,
  },
  {
    name: 'counters',
    title: 'Counters',
    key: 'c',
    load: async () => (await import('./pages/counters.js')).CountersPage,
  },
  {
    name: 'transactions',
    title: 'Transactions',
    key: 't',
    load: async () => (await import('./pages/transactions.js')).TransactionsPage,
  },
  { name: 'caches', title: 'Caches', key: 'h', load: async () => (await import('./pages/caches.js')).CachesPage },
  {
    name: 'shards',
    title: 'Shards',
    key: 'r',
    load: async () => (await import('./pages/shards.js')).ShardsPage,
    isShown: ({ has }) => has.shards,
  },
  {
    name: 'ring',
    title: 'Ring',
    key: 'n',
    load: async () => (await import('./pages/ring.js')).RingPage,
    isShown: ({ has }) => has.ring,
  },
  {
    name: 'replicas',
    title: 'Replicas',
    key: 'p',
    load: async () => (await import('./pages/replicas.js')).ReplicasPage,
    isShown: ({ has }) => has.replicas,
  },
  { name: 'tasks', title: 'Tasks', key: 'k', load: async () => (await import('./pages/tasks.js')).TasksPage },
  { name: 'access', title: 'Access', key: 'a', load: async () => (await import('./pages/access.js')).AccessPage },
  { name: 'logs', title: 'Logs', key: 'l', load: async () => (await import('./pages/logs.js')).LogsPage },
  {
    name: 'javascript',
    title: 'JavaScript',
    key: 'j',
    load: async () => (await import('./pages/javascript.js')).JavascriptPage,
  },
]
