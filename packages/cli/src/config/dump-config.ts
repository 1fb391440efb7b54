/** The effective configuration as a table: name, value, where it came from. */
import type { Option, Options } from './options.js'
import type { ConfigRead } from './read-config.js'

export function dumpConfig({ config, origins }: ConfigRead, options: Options): string {
  const rows = (Object.entries(options) as [keyof Options, Option][]).map(([name, { kind }]) => {
    const value = config[name]
    return [name, kind.show ? kind.show(value) : String(value), origins[name]] as const
  })
  const nameWidth = Math.max(...rows.map(([name]) => name.length))
  const valueWidth = Math.max(...rows.map(([, value]) => value.length))
  return rows
    .map(([name, value, origin]) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${origin}\n`)
    .join('')
}
