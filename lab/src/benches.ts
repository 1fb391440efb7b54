/** All benches. Each is loaded only when it is run. */
import type { BenchEntry } from './harness/bench.js'

export const benches: readonly BenchEntry[] = [
  {
    name: 'bloom',
    title: 'Bloom filters: ours against those on npm, in Node and in Chromium',
    load: async () => (await import('./bench/bloom/bloom.js')).bloom,
  },
]
