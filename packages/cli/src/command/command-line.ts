/**
 * Reads the command line: `freshet COMMAND [flags]`. What is not understood is refused with a guess at what was meant;
 * nothing is ignored.
 */
import { parseArgs } from 'node:util'
import { FreshetError } from '@freshet/protocol'
import { type CheckRulesLine, readCheckRulesLine } from '../access/check-rules-line.js'
import { type RulesLine, readRulesLine } from '../access/rules-line.js'
import { readTokenLine, type TokenLine } from '../access/token-line.js'
import { type BackupLine, readBackupLine } from '../backup/backup-line.js'
import { type BenchLine, readBenchLine } from '../bench/bench-line.js'
import { type CheckLine, readCheckLine } from '../check/check-line.js'
import { type CheckStoreLine, readCheckStoreLine } from '../check/check-store-line.js'
import { didYouMean } from '../config/nearest-name.js'
import { flagOf, type Mode, type Option, type Options } from '../config/options.js'
import { type CopyLine, readCopyLine } from '../copy/copy-line.js'
import { type DoctorLine, readDoctorLine, type StoreDoctorLine } from '../doctor/doctor-line.js'
import { type DropLine, readDropLine } from '../drop/drop-line.js'
import { type ExportLine, readExportLine } from '../export/export-line.js'
import { type GenLine, readGenLine } from '../gen/gen-line.js'
import { type ImportLine, readImportLine } from '../import/import-line.js'
import { type InitLine, readInitLine } from '../init/init-line.js'
import { type MigrateLine, readMigrateLine } from '../migrate/migrate-line.js'
import { type RestoreLine, readRestoreLine } from '../restore/restore-line.js'
import { type RingLine, readRingLine } from '../ring/ring-line.js'
import { readShardsLine, type ShardsLine } from '../shards/shards-line.js'
import { readTablesLine, type TablesLine } from '../tables/tables-line.js'

export type CommandLine =
  | { readonly command: 'help' /** A command. */; readonly topic?: string | undefined }
  | { readonly command: 'version' }
  | BackupLine
  | BenchLine
  | CheckLine
  | CheckStoreLine
  | CopyLine
  | DoctorLine
  | StoreDoctorLine
  | DropLine
  | ExportLine
  | GenLine
  | TokenLine
  | CheckRulesLine
  | RulesLine
  | ImportLine
  | InitLine
  | MigrateLine
  | RestoreLine
  | TablesLine
  | ShardsLine
  | RingLine
  | { readonly command: Mode; readonly flags: ReadonlyMap<string, string>; readonly configPath?: string }
  | {
      readonly command: 'config'
      /** Whose defaults. */
      readonly mode: Mode
      readonly isDumped: boolean
      readonly isJson: boolean
      readonly flags: ReadonlyMap<string, string>
      readonly configPath?: string
    }

export const COMMANDS = [
  'dev',
  'serve',
  'config',
  'check',
  'doctor',
  'migrate',
  'gen',
  'copy',
  'token',
  'rules',
  'export',
  'import',
  'drop',
  'backup',
  'restore',
  'init',
  'tables',
  'shards',
  'ring',
  'bench',
  'help',
  'version',
] as const
const MODES: readonly Mode[] = ['serve', 'dev']

/** Throws CONFIG_INVALID. */
export function readCommandLine(argv: readonly string[], options: Options): CommandLine {
  const isHelpAsked = argv.includes('--help') || argv.includes('-h')
  if (isHelpAsked || argv[0] === 'help') return readHelp(argv)
  // Its words are files, and its options are its own.
  if (argv[0] === 'check' && argv[1] === 'rules') return readCheckRulesLine(argv.slice(2))
  if (argv[0] === 'rules') return readRulesLine(argv.slice(1), process.env)
  if (argv[0] === 'check' && argv[1] === 'store') return readCheckStoreLine(argv.slice(2), process.env)
  if (argv[0] === 'token') return readTokenLine(argv.slice(1))
  if (argv[0] === 'check') return readCheckLine(argv.slice(1))
  if (argv[0] === 'doctor') return readDoctorLine(argv.slice(1), process.env)
  if (argv[0] === 'migrate') return readMigrateLine(argv.slice(1))
  if (argv[0] === 'gen') return readGenLine(argv.slice(1))
  if (argv[0] === 'copy') return readCopyLine(argv.slice(1), process.env)
  if (argv[0] === 'export') return readExportLine(argv.slice(1), process.env)
  if (argv[0] === 'import') return readImportLine(argv.slice(1), process.env)
  if (argv[0] === 'drop') return readDropLine(argv.slice(1))
  if (argv[0] === 'backup') return readBackupLine(argv.slice(1), process.env)
  if (argv[0] === 'restore') return readRestoreLine(argv.slice(1), process.env)
  if (argv[0] === 'init') return readInitLine(argv.slice(1))
  if (argv[0] === 'tables') return readTablesLine(argv.slice(1), process.env)
  if (argv[0] === 'shards') return readShardsLine(argv.slice(1))
  if (argv[0] === 'ring') return readRingLine(argv.slice(1))
  if (argv[0] === 'bench') return readBenchLine(argv.slice(1))
  const { words, given } = scan(argv, options)
  if (argv.length === 0) return { command: 'help' }
  if (given.has('version') || words[0] === 'version') return { command: 'version' }
  const [command, ...more] = words
  if (!isMode(command) && command !== 'config') throw unknownCommand(command)
  const mode = command === 'config' ? (more.shift() ?? 'serve') : command
  if (!isMode(mode)) {
    const guess = didYouMean(mode, MODES)
    throw invalid(`config shows the configuration of serve or dev, not of ${JSON.stringify(mode)}.${guess}`)
  }
  if (more.length > 0) throw invalid(`${JSON.stringify(more[0])} is one word too many. Options begin with two dashes.`)
  const { config: configPath, dump, json, ...rest } = Object.fromEntries(given)
  const shared = { flags: new Map(Object.entries(rest)), ...(configPath === undefined ? {} : { configPath }) }
  if (command === 'config')
    return { command, mode, isDumped: dump !== undefined, isJson: json !== undefined, ...shared }
  if (json !== undefined) throw invalid(`${command} takes no --json: its log is JSON with --log-format json.`)
  if (dump !== undefined) throw invalid(`--dump belongs to config: freshet config ${command} --dump`)
  return { command, ...shared }
}

/** `freshet export --help`, `freshet help export`. */
function readHelp(argv: readonly string[]): CommandLine {
  const topic = argv[0] === 'help' ? argv[1] : argv[0]
  if (topic === undefined || topic.startsWith('-')) return { command: 'help' }
  if (!COMMANDS.includes(topic as (typeof COMMANDS)[number])) throw unknownCommand(topic)
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
    if (given.has(name)) throw invalid(`--${name} is given twice. Leave one out.`)
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
  if (value === undefined || value.startsWith('--')) throw invalid(`${rawName} needs a value after it.`)
  return [name, value]
}

function unknownFlag(rawName: string, name: string, flags: Iterable<string>): FreshetError {
  const guess = didYouMean(name, flags, flag => `--${flag}`)
  return invalid(`${rawName} is no option.${guess || ' freshet --help lists them.'}`)
}

function unknownCommand(word: string | undefined): FreshetError {
  if (word === undefined) return invalid(`Say what to do first: freshet ${COMMANDS.slice(0, -2).join(', ')}.`)
  const guess = didYouMean(word, COMMANDS) || ' freshet --help lists them.'
  return invalid(`${JSON.stringify(word)} is no command.${guess}`)
}

function invalid(message: string): FreshetError {
  return new FreshetError('CONFIG_INVALID', message)
}
