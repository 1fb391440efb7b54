/** Holds a store open as its writer, and serves the process that started it as a reader. Arguments: the folder. */
import { type FromWriter, ipcChannel, openEmbeddedStore, serveReaders, type ToWriter } from '../index.js'

const store = await openEmbeddedStore({ path: process.argv[2]! })
serveReaders(store).attach(ipcChannel<ToWriter, FromWriter>(process))
process.send?.('open')
process.on('message', async message => {
  if (message !== 'close') return
  await store.close()
  process.disconnect()
})
