/**
 * The effective configuration: flags over the environment over the config file over the defaults, and for each value
 * where it came from. Pure: the caller has read the file.
 *
 * An unknown name is a mistake in every source: a typo must not become a default. Values are checked only where they take
 * effect, so that a flag can override a variable set elsewhere. All mistakes are reported at once.
 */
import { FreshetError } from '@freshet/protocol'
import { didYouMean } from './nearest-name.js'
import type { Mode, Option } from './option.js'
import { type Config, flagOf, type OptionName, type Options, variableOf } from './options.js'
import type { Environment, OptionValue } from './value-kinds.js'

export interface ConfigSources {
  /** By flag, without the dashes: `log-level`. */
  readonly flags: ReadonlyMap<string, string>
  readonly environment: Environment
  readonly file?: ConfigFile
}

export interface ConfigFile {
  readonly path: string
  readonly values: Readonly<Record<string, unknown>>
}

export interface ConfigRead {
  readonly config: Config
  /** `--port`, `FRESHET_PORT`, the path of the config file, or `default`. */
  readonly origins: Readonly<Record<OptionName, string>>
}

/** A value as it was written, and its source. */
interface Written {
  readonly origin: string
  /** The origin, more exactly, for messages. */
  readonly place?: string
  readonly text: string
}

/** Throws CONFIG_INVALID with one line for each mistake. */
export function readConfig(mode: Mode, options: Options, sources: ConfigSources): ConfigRead {
  const mistakes = unknownNames(options, sources)
  const values: Record<string, OptionValue> = {}
  const origins: Record<string, string> = {}
  for (const [name, option] of Object.entries(options) as [OptionName, Option][]) {
    const written = findWritten(name, sources)
    const value = written ? option.kind.parse(written.text, sources.environment) : option.defaults[mode]
    if (value === undefined) mistakes.push(...refusals(written!, option, sources.environment))
    else values[name] = value
    origins[name] = written?.origin ?? 'default'
  }
  const config = values as unknown as Config
  if (mistakes.length === 0) mistakes.push(...contradictions(config))
  if (mistakes.length > 0) throw new FreshetError('CONFIG_INVALID', mistakes.join('\n'))
  return { config, origins: origins as ConfigRead['origins'] }
}

function findWritten(name: OptionName, { flags, environment, file }: ConfigSources): Written | undefined {
  const flag = flagOf(name)
  const flagText = flags.get(flag)
  if (flagText !== undefined) return { origin: `--${flag}`, text: flagText }
  // Hosting services set PORT. An empty variable counts as not set.
  for (const variable of name === 'port' ? [variableOf(name), 'PORT'] : [variableOf(name)]) {
    const text = environment[variable]
    if (text) return { origin: variable, text }
  }
  if (!file || !Object.hasOwn(file.values, name)) return undefined
  const value = file.values[name]
  return { origin: file.path, place: `${name} in ${file.path}`, text: textOf(value) }
}

/** A list is written with commas, except a list of objects. A single object is not a value of any kind. */
function textOf(value: unknown): string {
  if (Array.isArray(value) && value.length > 0 && value.every(item => typeof item !== 'object')) return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function refusals({ origin, place = origin, text }: Written, { kind }: Option, environment: Environment): string[] {
  if (kind.mistakes) return kind.mistakes(text, environment).map(mistake => `${place}: ${mistake}`)
  return [`${place} takes ${kind.wants}, not ${JSON.stringify(text)}.${kind.hint?.(text) ?? ''}`]
}

/** Flags are checked where the command line is read, since only that code knows how they were written. */
function unknownNames(options: Options, { environment, file }: ConfigSources): string[] {
  const names = Object.keys(options)
  const inFile = Object.keys(file?.values ?? {})
    .filter(key => !Object.hasOwn(options, key))
    .map(key => `${file!.path} has the key ${JSON.stringify(key)}, which is not an option.${didYouMean(key, names)}`)
  return [...unknownVariables(names, environment), ...inFile]
}

/** Other programs have variables that begin like ours (Kubernetes makes some), so only near misses are mistakes. */
function unknownVariables(names: readonly string[], environment: ConfigSources['environment']): string[] {
  const known = [...names, 'config', 'token', 'from', 'to']
    .map(variableOf)
    .flatMap(variable => [variable, `${variable}_FILE`])
  return Object.keys(environment)
    .filter(variable => variable.startsWith('FRESHET_') && !known.includes(variable))
    .map(variable => ({ variable, guess: didYouMean(variable.slice(8), [...names, 'config'], variableOf) }))
    .filter(({ guess }) => guess !== '')
    .map(({ variable, guess }) => `The variable ${variable} is not an option.${guess}`)
}

function contradictions({ lifetimeMs, lifetimeMsMax }: Config): string[] {
  if (lifetimeMs <= lifetimeMsMax) return []
  return [`lifetimeMs (${lifetimeMs}ms) must not be more than lifetimeMsMax (${lifetimeMsMax}ms).`]
}
