import { defineConfig } from 'vitest/config'

// One runner, one project per room, so that a single room can be run alone: `npx vitest run --project bloom`.
function room(name: string, include: string[]) {
  return { test: { name, include, testTimeout: 120_000, hookTimeout: 120_000 } }
}

export default defineConfig({
  test: {
    projects: [
      room('bloom', ['packages/bloom/src/**/*.test.ts']),
      room('protocol', ['packages/protocol/src/**/*.test.ts']),
      room('core', ['packages/core/src/**/*.test.ts']),
      room('stores', ['packages/stores/src/**/*.test.ts']),
      room('server', ['packages/server/src/**/*.test.ts']),
      room('client', ['packages/client/src/**/*.test.ts']),
      room('cli', ['packages/cli/src/**/*.test.ts']),
      room('lab', ['lab/src/**/*.test.ts']),
      room('tidy', ['tests/src/tidy/**/*.test.ts']),
      room('caches', ['tests/src/caches/**/*.test.ts']),
      room('end-to-end', ['tests/src/end-to-end/**/*.test.ts']),
    ],
  },
})
