export { openRingStore, type RingNodeAddress, type RingStoreOptions } from './open-ring-store.js'
