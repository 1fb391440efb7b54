export {
  type Channel,
  type FromWriter,
  type IpcEndpoint,
  ipcChannel,
  type ReaderChannel,
  type ToWriter,
  type WriterChannel,
} from './channel.js'
export { type EmbeddedReaderOptions, openEmbeddedReader } from './embedded-reader.js'
export { type EmbeddedSnapshot, openEmbeddedSnapshot, type StoreState } from './embedded-snapshot.js'
export { type EmbeddedStore, type EmbeddedStoreOptions, openEmbeddedStore } from './embedded-store.js'
export { type ExamineStoreOptions, examineEmbeddedStore } from './examine-embedded-store.js'
export type { Damage, Examination } from './integrity/examine-file.js'
export { bootId, isRunning, startOf } from './processes.js'
export { type ReadersService, serveReaders } from './serve-readers.js'
export { makeFolder } from './store-folder.js'
