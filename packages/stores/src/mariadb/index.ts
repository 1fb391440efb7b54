export { type MariadbStoreOptions, openMariadbStore } from './open-mariadb-store.js'
