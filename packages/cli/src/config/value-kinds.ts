/**
 * The kinds of value an option takes, each read from text: flags and the environment hold text, and a config file's numbers
 * and lists are read in the same way. `wants` completes a sentence that begins with "takes".
 */
import { isIP } from 'node:net'
import type { CacheConfig } from '@freshet/server/configuration'
import type { ShardsConfig } from '@freshet/shards/configuration'
import { didYouMean } from './nearest-name.js'

export type OptionValue = string | number | boolean | readonly string[] | readonly CacheConfig[] | ShardsConfig | null
export type Environment = Readonly<Record<string, string | undefined>>

export interface ValueKind<Value extends OptionValue = OptionValue> {
  /** For the usage: `--port N`. Absent for switches. */
  readonly placeholder?: string
  readonly wants: string
  /** Undefined if the text is not of this kind. */
  parse(text: string, environment?: Environment): Value | undefined
  /** More on why a text is refused. */
  hint?(text: string): string
  /** Everything that is wrong with the text. Shown instead of the text itself, which holds secrets. */
  mistakes?(text: string, environment: Environment): readonly string[]
  /** How a value is shown: in a form that could be read back, unless that would reveal secrets. */
  show?(value: Value): string
}

export const TEXT: ValueKind<string> = {
  placeholder: 'TEXT',
  wants: 'a non-empty text',
  parse: text => (text.trim() === '' ? undefined : text),
}

export const FOLDER: ValueKind<string> = { ...TEXT, placeholder: 'FOLDER', wants: 'a folder' }

export const PORT: ValueKind<number> = {
  placeholder: 'N',
  wants: 'a port from 0 (any free port) to 65535',
  parse: text => wholeNumber(text, 0, 65_535),
  hint: text =>
    text.startsWith('tcp://')
      ? ' Kubernetes sets this for a service named freshet: set enableServiceLinks: false, or rename the service.'
      : '',
}

export const SWITCH: ValueKind<boolean> = {
  wants: 'true or false',
  parse: text => (text === 'true' ? true : text === 'false' ? false : undefined),
}

export function countFrom(least: number, most: number = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return { placeholder: 'N', wants: `a whole number ${range}`, parse: text => wholeNumber(text, least, most) }
}

const MS_OF_UNIT: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function durationFrom(leastMs: number): ValueKind<number> {
  return {
    placeholder: 'TIME',
    wants: `a time such as 500ms, 30s, 10m or 24h, of at least ${leastMs}ms`,
    parse: text => withUnit(text, MS_OF_UNIT, leastMs),
    show: value => inUnits(value, MS_OF_UNIT, ['d', 'h', 'm', 's', 'ms']),
  }
}

const KIB = 1024
const BYTES_OF_UNIT: Readonly<Record<string, number>> = { '': 1, B: 1, KiB: KIB, MiB: KIB ** 2, GiB: KIB ** 3 }

export function sizeFrom(leastBytes: number): ValueKind<number> {
  return {
    placeholder: 'SIZE',
    wants: `a size such as 512B, 64KiB or 8MiB, of at least ${leastBytes}B`,
    parse: text => withUnit(text, BYTES_OF_UNIT, leastBytes),
    show: value => inUnits(value, BYTES_OF_UNIT, ['GiB', 'MiB', 'KiB', 'B']),
  }
}

export const RATE: ValueKind<number> = {
  placeholder: 'RATE',
  wants: 'a number between 0 and 1',
  parse: text => {
    const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
    return value > 0 && value < 1 ? value : undefined
  },
}

export const SHARE: ValueKind<number> = {
  placeholder: 'SHARE',
  wants: 'a number from 0 to 1',
  parse: text => {
    const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
    return value >= 0 && value <= 1 ? value : undefined
  },
}

export function oneOf<const Name extends string>(...names: readonly Name[]): ValueKind<Name> {
  return {
    placeholder: names.join('|'),
    wants: `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`,
    parse: text => names.find(name => name === text),
    hint: text => didYouMean(text, names),
  }
}

/** A rate, which may be a fraction. */
export function rateFrom(least: number): ValueKind<number> {
  return {
    placeholder: 'N',
    wants: `a number of at least ${least}`,
    parse: text => {
      const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN
      return value >= least && value <= 1e9 ? value : undefined
    },
  }
}

/** Addresses and networks, separated by commas. */
export const NETWORKS: ValueKind<readonly string[]> = {
  placeholder: 'NETWORKS',
  wants: 'addresses or networks such as 10.0.0.5,192.168.0.0/16, or none',
  parse: text => {
    const networks = text === 'none' ? [] : text.split(',').map(network => network.trim())
    return networks.every(isNetwork) ? networks : undefined
  },
  show: networks => (networks.length === 0 ? 'none' : networks.join(',')),
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const bitsMax = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1
  return more.length === 0 && bitsMax > 0 && (bits === undefined || wholeNumber(bits, 0, bitsMax) !== undefined)
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/\s,]+$/

/** `auto`, `*`, or origins separated by commas. */
export const ORIGINS: ValueKind<'auto' | '*' | readonly string[]> = {
  placeholder: 'ORIGINS',
  wants: 'auto, * or web origins such as https://shop.example,https://admin.example, without a path',
  parse: text => {
    if (text === 'auto' || text === '*') return text
    const origins = text.split(',').map(origin => origin.trim())
    return origins.every(origin => ORIGIN.test(origin)) ? origins : undefined
  },
}

function wholeNumber(text: string, least: number, most: number): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(value) && value >= least && value <= most ? value : undefined
}

function withUnit(text: string, units: Readonly<Record<string, number>>, least: number): number | undefined {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([a-zA-Z]*)$/.exec(text) ?? []
  const factor = Object.entries(units).find(([name]) => name.toLowerCase() === unit?.toLowerCase())?.[1]
  const value = Number(digits) * (factor ?? Number.NaN)
  return Number.isSafeInteger(value) && value >= least ? value : undefined
}

/** In the largest unit that leaves a whole number. */
function inUnits(value: number, units: Readonly<Record<string, number>>, largestFirst: readonly string[]): string {
  const unit = largestFirst.find(name => value % units[name]! === 0 && value >= units[name]!) ?? largestFirst.at(-1)!
  return `${value / units[unit]!}${unit}`
}
