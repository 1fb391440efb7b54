/** The configuration of this process: flags override variables, variables override the file. */
import { readConfigFile } from './config-file.js'
import type { Mode } from './option.js'
import type { Options } from './options.js'
import { type ConfigRead, readConfig } from './read-config.js'
import { readVariables } from './variables.js'

/** Throws CONFIG_INVALID. */
export function effectiveConfig(
  mode: Mode,
  { flags, configPath }: { flags: ReadonlyMap<string, string>; configPath?: string | undefined },
  options: Options,
): ConfigRead {
  const file = readConfigFile(configPath ?? (process.env.FRESHET_CONFIG || undefined))
  const environment = readVariables(process.env, Object.keys(options))
  return readConfig(mode, options, { flags, environment, ...(file ? { file } : {}) })
}
