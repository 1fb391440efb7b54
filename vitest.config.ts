import { defineConfig } from 'vitest/config'
import { SlowestFirst } from './tests/src/runner/slowest-first.js'

// What other packages have built is loaded by Node itself, which takes a quarter of vitest's time for it.
const BUILT = { deps: { external: [/\/dist\//] } }

// One runner, one project per room, so that a single room can be run alone: `npx vitest run --project bloom`.
function room(name: string, include: string[], exclude: string[] = []) {
  const times = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 30_000 } } }
  return { test: { name, include, exclude, server: BUILT, ...times } }
}

// Files that leave nothing behind share a worker, and what it has loaded. Loading takes longer than most of
// their tests.
function sharedRoom(name: string, include: string[], exclude: string[] = []) {
  const { test } = room(name, include, exclude)
  return { test: { ...test, isolate: false } }
}

// The tests of a store whose engine is not installed, as tests/src/runner has found out and said.
const ENGINES = {
  redis: ['packages/engines/src/redis*/**', '**/*redis.test.ts', '**/*redis-and-postgres.test.ts'],
  postgresql: ['packages/engines/src/postgres/**', '**/*postgres.test.ts'],
  mariadb: ['packages/engines/src/mariadb/**', '**/*mariadb.test.ts'],
  cassandra: ['packages/engines/src/cassandra/**', '**/*cassandra.test.ts'],
}
const missing = (process.env.FRESHET_SKIP ?? '').split(',')
const withoutEngine = Object.entries(ENGINES).flatMap(([engine, tests]) => (missing.includes(engine) ? tests : []))

export default defineConfig({
  test: {
    // Most tests wait for servers, caches and clocks some of the time: five keep two processors busy.
    maxWorkers: 5,
    sequence: { sequencer: SlowestFirst },
    projects: [
      sharedRoom('bloom', ['packages/bloom/src/**/*.test.ts']),
      sharedRoom('protocol', ['packages/protocol/src/**/*.test.ts']),
      sharedRoom('core', ['packages/core/src/**/*.test.ts']),
      sharedRoom('store', ['packages/store/src/**/*.test.ts']),
      sharedRoom('engines', ['packages/engines/src/**/*.test.ts'], withoutEngine),
      sharedRoom('dht', ['packages/dht/src/**/*.test.ts']),
      sharedRoom('cells', ['packages/cells/src/**/*.test.ts'], withoutEngine),
      sharedRoom('shards', ['packages/shards/src/**/*.test.ts'], withoutEngine),
      sharedRoom('server', ['packages/server/src/**/*.test.ts'], withoutEngine),
      sharedRoom('client', ['packages/client/src/**/*.test.ts']),
      sharedRoom('console', ['packages/console/src/**/*.test.ts']),
      sharedRoom('cli', ['packages/cli/src/**/*.test.ts']),
      sharedRoom('lab', ['lab/src/**/*.test.ts']),
      room('tidy', ['tests/src/tidy/**/*.test.ts']),
      sharedRoom('release', ['tests/src/release/**/*.test.ts']),
      sharedRoom('caches', ['tests/src/caches/**/*.test.ts']),
      sharedRoom('end-to-end', ['tests/src/end-to-end/**/*.test.ts'], withoutEngine),
    ],
  },
})
