import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { WALK_SIZE } from '../under-test/walk-size.js'
import { type FromWriter, ipcChannel, type ToWriter } from './channel.js'
import { openEmbeddedReader } from './embedded-reader.js'
import { startProcess } from './under-test/start-process.js'
import { temporaryFolder } from './under-test/temporary-folder.js'

const writerProcess = new URL('./under-test/writer-process.js', import.meta.url)
const isOpen = (message: unknown): message is 'open' => message === 'open'

describe('a reader, with the writer in another process', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const folder = await temporaryFolder()
      const start = async () => {
        const writer = startProcess(writerProcess, [folder.path])
        await writer.message(isOpen)
        const channel = ipcChannel<FromWriter, ToWriter>(writer.child)
        return { writer, store: await openEmbeddedReader({ path: folder.path, channel }) }
      }
      let { writer, store } = await start()
      const stop = async () => {
        await store.close()
        writer.child.send('close')
        await once(writer.child, 'exit')
      }
      return {
        store,
        async reopen() {
          await stop()
          ;({ writer, store } = await start())
          return store
        },
        async dispose() {
          await stop()
          await folder.remove()
        },
      }
    },
    seed: 3,
    steps: WALK_SIZE.steps * 2,
    queryBuckets: WALK_SIZE.queryBuckets * 2,
  })
})
