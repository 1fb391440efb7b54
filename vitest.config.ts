import { defineConfig } from 'vitest/config'

// One runner, one project per room, so that a single room can be run alone: `npx vitest run --project bloom`.
function room(name: string, include: string[], exclude: string[] = []) {
  const times = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 30_000 } } }
  return { test: { name, include, exclude, ...times } }
}

// The tests of a store whose engine is not installed, as tests/src/runner has found out and said.
const ENGINES = {
  redis: ['packages/stores/src/redis*/**', '**/*redis.test.ts', '**/*redis-and-postgres.test.ts'],
  postgresql: ['packages/stores/src/postgres/**', '**/*postgres.test.ts'],
  mariadb: ['packages/stores/src/mariadb/**', '**/*mariadb.test.ts'],
  cassandra: ['packages/stores/src/cassandra/**', '**/*cassandra.test.ts'],
}
const missing = (process.env.FRESHET_SKIP ?? '').split(',')
const withoutEngine = Object.entries(ENGINES).flatMap(([engine, tests]) => (missing.includes(engine) ? tests : []))

export default defineConfig({
  test: {
    // Most tests wait for servers, caches and clocks most of the time: three share two processors well.
    maxWorkers: 3,
    projects: [
      room('bloom', ['packages/bloom/src/**/*.test.ts']),
      room('protocol', ['packages/protocol/src/**/*.test.ts']),
      room('core', ['packages/core/src/**/*.test.ts']),
      room('stores', ['packages/stores/src/**/*.test.ts'], withoutEngine),
      room('server', ['packages/server/src/**/*.test.ts'], withoutEngine),
      room('client', ['packages/client/src/**/*.test.ts']),
      room('console', ['packages/console/src/**/*.test.ts']),
      room('cli', ['packages/cli/src/**/*.test.ts']),
      room('lab', ['lab/src/**/*.test.ts']),
      room('tidy', ['tests/src/tidy/**/*.test.ts']),
      room('caches', ['tests/src/caches/**/*.test.ts']),
      room('end-to-end', ['tests/src/end-to-end/**/*.test.ts'], withoutEngine),
    ],
  },
})
