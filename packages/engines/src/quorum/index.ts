export { openQuorumStore, type QuorumNodeAddress, type QuorumStoreOptions } from './open-quorum-store.js'
