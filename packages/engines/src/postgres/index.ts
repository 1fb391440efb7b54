export type { Exposure } from '../sql/tables/expose-tables.js'
export { openPostgresStore, type PostgresStoreOptions } from './open-postgres-store.js'
export {
  type ExposeOptions,
  exposedTables,
  exposeTable,
  type TablesOptions,
  unexposeTable,
} from './tables/expose-tables.js'
