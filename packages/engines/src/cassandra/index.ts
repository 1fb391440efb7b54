export { type CassandraStoreOptions, openCassandraStore } from './open-cassandra-store.js'
