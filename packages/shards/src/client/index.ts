export type { GlobalAnswer, SqlExplanation, SqlVersions } from '@freshet/protocol'
export {
  createSql,
  type SqlOptions,
  type SqlResult,
  type SqlRow,
  type SqlSession,
  type SqlValue,
} from './sql-client.js'
