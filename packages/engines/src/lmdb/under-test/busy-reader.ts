/** Reads without pause beside the writer that started it, and now and then writes. Arguments: the folder. */
import { type FromWriter, ipcChannel, openEmbeddedReader, type ToWriter } from '../index.js'

const store = await openEmbeddedReader({ path: process.argv[2]!, channel: ipcChannel<FromWriter, ToWriter>(process) })
for (let turn = 0; ; turn++) {
  await store.scan('a/b', { limit: 50 })
  await store.getMany(['a/b/1', 'a/b/2', 'a/b/none'])
  await store.position()
  // After this read, it is among the readers that the store must forget.
  if (turn === 0) process.send?.('open')
  if (turn % 10 === 0)
    await store.commit({ writes: [{ key: 'a/b/reader', contentType: 'text/plain', body: Buffer.from('x') }] })
}
