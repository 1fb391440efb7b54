/**
 * Reads the command line: `freshet COMMAND [flags]`. Words that are not understood are refused with a guess at what was meant;
 * nothing is ignored.
 */
import { parseArgs } from 'node:util'
import type { FreshetError } from '@freshet/protocol'
import { configInvalid } from '../config/config-invalid.js'
import { effectiveConfig } from '../config/effective-config.js'
import { didYouMean } from '../config/nearest-name.js'
import type { Mode, Option } from '../config/option.js'
import { flagOf, type Options } from '../config/options.js'
import type { CommandContext } from '../terminal/command.js'
import { COMMANDS } from './commands.js'

export type CommandLine =
  | { readonly command: 'help' /** A command. */; readonly topic?: string | undefined }
  | { readonly command: 'version' }
  /** A command with a folder of its own, ready to run. */
  | { readonly command: 'own'; readonly run: () => Promise<number> }
  | { readonly command: Mode; readonly flags: ReadonlyMap<string, string>; readonly configPath?: string }
  | {
      readonly command: 'config'
      /** The command whose defaults apply. */
      readonly mode: Mode
      readonly isDumped: boolean
      readonly isJson: boolean
      readonly flags: ReadonlyMap<string, string>
      readonly configPath?: string
    }

const MODES: readonly Mode[] = ['serve', 'dev']
/** All commands that do something. */
export const COMMAND_NAMES: readonly string[] = ['dev', 'serve', 'config', ...COMMANDS.map(({ name }) => name)]
const ALL_NAMES: readonly string[] = [...COMMAND_NAMES, 'help', 'version']

/** Throws CONFIG_INVALID. */
export function readCommandLine(argv: readonly string[], options: Options): CommandLine {
  const isHelpAsked = argv.includes('--help') || argv.includes('-h')
  if (isHelpAsked || argv[0] === 'help') return readHelp(argv)
  const own = COMMANDS.find(({ name }) => name === argv[0])
  if (own === undefined) return readServerLine(argv, options)
  return { command: 'own', run: own.read(argv.slice(1), contextOf(options)) }
}

function contextOf(options: Options): CommandContext {
  return {
    environment: process.env,
    serverConfig: configPath => effectiveConfig('serve', { flags: new Map(), configPath }, options).config,
  }
}

/** The commands that take the server's options, before or after their name. */
function readServerLine(argv: readonly string[], options: Options): CommandLine {
  const { words, given } = scan(argv, options)
  if (argv.length === 0) return { command: 'help' }
  if (given.has('version') || words[0] === 'version') return { command: 'version' }
  const [command, ...more] = words
  if (!isMode(command) && command !== 'config') throw unknownCommand(command)
  const mode = command === 'config' ? (more.shift() ?? 'serve') : command
  if (!isMode(mode)) {
    const guess = didYouMean(mode, MODES)
    throw configInvalid(`config shows the configuration of serve or dev, not of ${JSON.stringify(mode)}.${guess}`)
  }
  if (more.length > 0)
    throw configInvalid(`There is no argument ${JSON.stringify(more[0])}. Options begin with two dashes.`)
  const { config: configPath, dump, json, ...rest } = Object.fromEntries(given)
  const shared = { flags: new Map(Object.entries(rest)), ...(configPath === undefined ? {} : { configPath }) }
  if (command === 'config')
    return { command, mode, isDumped: dump !== undefined, isJson: json !== undefined, ...shared }
  if (json !== undefined) throw configInvalid(`${command} takes no --json. For a JSON log, use --log-format json.`)
  if (dump !== undefined) throw configInvalid(`Only config takes --dump: freshet config ${command} --dump`)
  return { command, ...shared }
}

/** `freshet export --help`, `freshet help export`. */
function readHelp(argv: readonly string[]): CommandLine {
  const topic = argv[0] === 'help' ? argv[1] : argv[0]
  if (topic === undefined || topic.startsWith('-')) return { command: 'help' }
  if (!ALL_NAMES.includes(topic)) throw unknownCommand(topic)
  return { command: 'help', topic }
}

function isMode(word: string | undefined): word is Mode {
  return MODES.includes(word as Mode)
}

function scan(argv: readonly string[], options: Options): { words: string[]; given: Map<string, string> } {
  const flags = knownFlags(options)
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries([...flags].map(([flag, type]) => [flag, { type, ...shortOf(flag) }])),
    strict: false,
    tokens: true,
  })
  const words: string[] = []
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const [name, text] = readFlag(token.rawName, token.name, token.value, flags)
    if (given.has(name)) throw configInvalid(`--${name} is given twice. Leave one out.`)
    given.set(name, text)
  }
  return { words, given }
}

function knownFlags(options: Options): Map<string, 'string' | 'boolean'> {
  const own = (Object.entries(options) as [string, Option][]).map(
    ([name, { kind }]) => [flagOf(name), kind.placeholder === undefined ? 'boolean' : 'string'] as const,
  )
  return new Map([
    ...own,
    ['config', 'string'],
    ['dump', 'boolean'],
    ['json', 'boolean'],
    ['help', 'boolean'],
    ['version', 'boolean'],
  ])
}

function shortOf(flag: string): { short?: string } {
  return flag === 'help' || flag === 'version' ? { short: flag[0]! } : {}
}

function readFlag(
  rawName: string,
  name: string,
  value: string | undefined,
  flags: ReadonlyMap<string, 'string' | 'boolean'>,
): [name: string, text: string] {
  const negated = name.startsWith('no-') ? name.slice(3) : undefined
  if (negated !== undefined && flags.get(negated) === 'boolean' && value === undefined) return [negated, 'false']
  const type = flags.get(name)
  if (type === undefined) throw unknownFlag(rawName, name, flags.keys())
  if (type === 'boolean') return [name, value ?? 'true']
  if (value === undefined || value.startsWith('--')) throw configInvalid(`${rawName} needs a value.`)
  return [name, value]
}

function unknownFlag(rawName: string, name: string, flags: Iterable<string>): FreshetError {
  const guess = didYouMean(name, flags, flag => `--${flag}`)
  return configInvalid(`${rawName} is not an option.${guess || ' To list the options: freshet --help'}`)
}

function unknownCommand(word: string | undefined): FreshetError {
  if (word === undefined) return configInvalid(`Name a command: freshet ${COMMAND_NAMES.join(', ')}.`)
  const guess = didYouMean(word, ALL_NAMES) || ' To list the commands: freshet --help'
  return configInvalid(`${JSON.stringify(word)} is not a command.${guess}`)
}
