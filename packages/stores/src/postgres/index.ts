export { openPostgresStore, type PostgresStoreOptions } from './open-postgres-store.js'
export {
  type ExposeOptions,
  type Exposure,
  exposedTables,
  exposeTable,
  type TablesOptions,
  unexposeTable,
} from './tables/expose-tables.js'
