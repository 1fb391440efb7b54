/** The effective configuration as a table: name, value, where it came from. */
import type { Option } from './option.js'
import type { Options } from './options.js'
import type { ConfigRead } from './read-config.js'

export function dumpConfig(read: ConfigRead, options: Options): string {
  const rows = rowsOf(read, options)
  const nameWidth = Math.max(...rows.map(([name]) => name.length))
  const valueWidth = Math.max(...rows.map(([, value]) => value.length))
  return rows
    .map(([name, value, origin]) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('')
}

/** The same for programs: `{ "port": { "value": "7700", "origin": "default" } }`. */
export function dumpConfigJson(read: ConfigRead, options: Options): string {
  return JSON.stringify(
    Object.fromEntries(rowsOf(read, options).map(([name, value, origin]) => [name, { value, origin }])),
  )
}

function rowsOf({ config, origins }: ConfigRead, options: Options): (readonly [string, string, string])[] {
  return (Object.entries(options) as [keyof Options, Option][]).map(([name, { kind }]) => {
    const value = config[name]
    return [name, kind.show ? kind.show(value) : String(value), origins[name]]
  })
}
