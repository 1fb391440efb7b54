/** The command line of `freshet tables`: which tables of a database are buckets. */
import { configInvalid } from '../config/config-invalid.js'
import type { Environment } from '../config/value-kinds.js'
import { readStore } from '../places/place.js'
import { readAction, readFlags } from '../terminal/read-flags.js'

export interface TablesLine {
  readonly action: 'add' | 'remove' | 'list'
  /** The address of the database that holds the store. */
  readonly store: string
  /** Empty for list. */
  readonly bucket: string
  readonly table: string
  readonly columns: readonly string[] | undefined
  readonly isJson: boolean
}

const ACTIONS = ['add', 'remove', 'list'] as const
const OWN = { add: ['bucket', 'table', 'columns'], remove: ['bucket'], list: [] }

/** Throws CONFIG_INVALID. */
export function readTablesLine(argv: readonly string[], environment: Environment): TablesLine {
  const action = readAction('tables', argv[0], ACTIONS)
  const given = readFlags(`tables ${action}`, argv.slice(1), {
    values: ['store', ...OWN[action]],
    switches: ['json'],
  })
  const store = readStore({ given, environment }) ?? ''
  const { bucket = '', table = '', columns } = Object.fromEntries(given)
  if (!/^(postgres(ql)?|mariadb|mysql):/.test(store)) {
    throw invalid('name the PostgreSQL or MariaDB database that holds the store')
  }
  if (action !== 'list' && bucket === '') throw invalid('name the bucket')
  if (action === 'add' && table === '') throw invalid('name the table')
  const isJson = given.has('json')
  return {
    action,
    store,
    bucket,
    table,
    isJson,
    columns: columns?.split(',').map(each => each.trim()),
  }
}

function invalid(why: string): Error {
  return configInvalid(
    `${why[0]!.toUpperCase()}${why.slice(1)}: freshet tables add --store postgres://user@host/database --table public.products --bucket shop/products`,
  )
}
