/** The command line of `freshet tables`: which tables of a database are buckets. */
import { FreshetError } from '@freshet/protocol'
import { readAction, readFlags } from '../command/read-flags.js'
import type { Environment } from '../config/value-kinds.js'
import { readStore } from '../transfer/place.js'

export interface TablesLine {
  readonly command: 'tables'
  readonly action: 'add' | 'remove' | 'list'
  /** Of the database, which the store is in. */
  readonly store: string
  /** Unless all are listed. */
  readonly bucket: string
  readonly table: string
  readonly columns: readonly string[] | undefined
  readonly isJson: boolean
}

const ACTIONS = ['add', 'remove', 'list'] as const

/** Throws CONFIG_INVALID. */
export function readTablesLine(argv: readonly string[], environment: Environment): TablesLine {
  const action = readAction('tables', argv[0], ACTIONS)
  const given = readFlags(`tables ${action}`, argv.slice(1), {
    store: { type: 'string' },
    json: { type: 'boolean' },
    ...(action !== 'list' && { bucket: { type: 'string' } }),
    ...(action === 'add' && { table: { type: 'string' }, columns: { type: 'string' } }),
  })
  const store = readStore({ given, environment }) ?? ''
  const { bucket = '', table = '', columns } = Object.fromEntries(given)
  if (!/^(postgres(ql)?|mariadb|mysql):/.test(store)) {
    throw invalid('tables are those of the database that the store is in, of PostgreSQL or MariaDB')
  }
  if (action !== 'list' && bucket === '') throw invalid('say which bucket')
  if (action === 'add' && table === '') throw invalid('say which table')
  const isJson = given.has('json')
  return {
    command: 'tables',
    action,
    store,
    bucket,
    table,
    isJson,
    columns: columns?.split(',').map(each => each.trim()),
  }
}

function invalid(why: string): FreshetError {
  return new FreshetError(
    'CONFIG_INVALID',
    `${why[0]!.toUpperCase()}${why.slice(1)}: freshet tables add --store postgres://user@host/database --table public.products --bucket shop/products`,
  )
}
