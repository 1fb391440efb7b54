import { setImmediate } from 'node:timers/promises'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { WALK_SIZE } from '../under-test/walk-size.js'
import { openEmbeddedReader } from './embedded-reader.js'
import { openEmbeddedStore } from './embedded-store.js'
import { serveReaders } from './serve-readers.js'
import { channelPair } from './under-test/channel-pair.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

for (const durability of ['disk', 'relaxed'] as const) {
  describe(`alone, durability ${durability}`, () => {
    testStore({
      kit: { describe, test, expect, nextTurn: setImmediate },
      async open() {
        const folder = await temporaryFolder()
        let store = await openEmbeddedStore({ path: folder.path, durability })
        return {
          store,
          async reopen() {
            await store.close()
            store = await openEmbeddedStore({ path: folder.path, durability })
            return store
          },
          async dispose() {
            await store.close()
            await folder.remove()
          },
        }
      },
      // More steps where no commit waits for a disk.
      steps: WALK_SIZE.steps * (durability === 'relaxed' ? 10 : 2),
      queryBuckets: WALK_SIZE.queryBuckets * (durability === 'relaxed' ? 10 : 2),
    })
  })
}

describe('with a reader', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const folder = await temporaryFolder()
      let store = await openEmbeddedStore({ path: folder.path })
      const { writerEnd, readerEnd } = channelPair()
      serveReaders(store).attach(writerEnd)
      const peer = await openEmbeddedReader({ path: folder.path, channel: readerEnd })
      return {
        store,
        peer,
        async reopen() {
          await peer.close()
          await store.close()
          store = await openEmbeddedStore({ path: folder.path })
          return store
        },
        async dispose() {
          await peer.close()
          await store.close()
          await folder.remove()
        },
      }
    },
    seed: 2,
    steps: WALK_SIZE.steps * 2,
    queryBuckets: WALK_SIZE.queryBuckets * 2,
  })
})
