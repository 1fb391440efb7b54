export type { Exposure } from '../sql/tables/expose-tables.js'
export { type MariadbStoreOptions, openMariadbStore } from './open-mariadb-store.js'
export {
  type ExposeOptions,
  exposedTables,
  exposeTable,
  type TablesOptions,
  unexposeTable,
} from './tables/expose-tables.js'
