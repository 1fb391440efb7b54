/** Does what the command line asks for; says with which code to exit. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import type { TokenLine } from '../access/token-line.js'
import { readConfigFile } from '../config/config-file.js'
import { listOptions, type Mode, type Options } from '../config/options.js'
import { type ConfigRead, readConfig } from '../config/read-config.js'
import { readVariables } from '../config/variables.js'
import { type CommandLine, readCommandLine } from './command-line.js'
import { ownVersion } from './own-version.js'
import { tellFailure } from './tell-failure.js'

const EXIT_CONFIG_INVALID = 2
const OF_CONFIGURATION = ['CONFIG_INVALID', 'ACCESS_REQUIRED']

export async function runCommand(argv: readonly string[]): Promise<number> {
  try {
    const options = listOptions(availableParallelism())
    return await run(readCommandLine(argv, options), options)
  } catch (error) {
    if (!(error instanceof FreshetError) || !OF_CONFIGURATION.includes(error.code)) throw error
    // Also where the line could not be read.
    tellFailure(error, argv.includes('--json'))
    return EXIT_CONFIG_INVALID
  }
}

async function run(line: CommandLine, options: Options): Promise<number> {
  switch (line.command) {
    case 'help':
      process.stdout.write((await import('./help.js')).helpText(options, line.topic))
      return 0
    case 'version':
      console.log(ownVersion())
      return 0
    case 'check':
      return (await import('../check/check-recordings.js')).checkRecordings(line)
    case 'check-store':
      return (await import('../check/check-store.js')).checkStore(line)
    case 'check-rules':
      return (await import('../access/check-rules.js')).checkRules(line)
    case 'token':
      return (await import('../access/run-token.js')).runToken(line, tokenConfig(line, options).config)
    case 'rules':
      return (await import('../access/run-rules.js')).runRules(line)
    case 'doctor':
      if ('store' in line) return (await import('../doctor/examine-store.js')).examineStore(line)
      return (await import('../doctor/run-doctor.js')).runDoctor(line)
    case 'migrate':
      return (await import('../migrate/run-migrate.js')).runMigrate(line)
    case 'gen':
      return (await import('../gen/run-gen.js')).runGen(line)
    case 'copy':
      return (await import('../copy/run-copy.js')).runCopy(line)
    case 'export':
      return (await import('../export/run-export.js')).runExport(line)
    case 'import':
      return (await import('../import/run-import.js')).runImport(line)
    case 'drop':
      return (await import('../drop/run-drop.js')).runDrop(line)
    case 'backup':
      return (await import('../backup/run-backup.js')).runBackup(line)
    case 'restore':
      return (await import('../restore/run-restore.js')).runRestore(line)
    case 'init':
      return (await import('../init/run-init.js')).runInit(line)
    case 'bench':
      return (await import('../bench/run-bench.js')).runBench(line)
    case 'tables':
      return (await import('../tables/run-tables.js')).runTables(line)
    case 'ring':
      return (await import('../ring/run-ring.js')).runRing(line)
    case 'shards': {
      const { config } = effectiveConfig('serve', { ...line, flags: new Map() }, options)
      return (await import('../shards/run-shards.js')).runShards(line, config.shards)
    }
    case 'config':
      return showConfig(effectiveConfig(line.mode, line, options), line, options)
    default:
      return serve(line.command, effectiveConfig(line.command, line, options))
  }
}

function effectiveConfig(
  mode: Mode,
  { flags, configPath }: { flags: ReadonlyMap<string, string>; configPath?: string | undefined },
  options: Options,
): ConfigRead {
  const file = readConfigFile(configPath ?? (process.env.FRESHET_CONFIG || undefined))
  const environment = readVariables(process.env, Object.keys(options))
  return readConfig(mode, options, { flags, environment, ...(file ? { file } : {}) })
}

/** As a server here would have it. */
function tokenConfig({ configPath }: TokenLine, options: Options): ConfigRead {
  return effectiveConfig('serve', { flags: new Map(), configPath }, options)
}

async function showConfig(
  read: ConfigRead,
  { isDumped, isJson }: { readonly isDumped: boolean; readonly isJson: boolean },
  options: Options,
): Promise<number> {
  if (isDumped && isJson) console.log((await import('../config/dump-config.js')).dumpConfigJson(read, options))
  else if (isJson) console.log(JSON.stringify({ isValid: true }))
  else if (isDumped) process.stdout.write((await import('../config/dump-config.js')).dumpConfig(read, options))
  else console.log('The configuration is valid. --dump prints it, and where each value came from.')
  return 0
}

async function serve(mode: Mode, { config }: ConfigRead): Promise<number> {
  const [{ runServer }, { createLog }, { checkAccess }] = await Promise.all([
    import('../serve/run-server.js'),
    import('../serve/create-log.js'),
    import('../serve/access-setup.js'),
  ])
  checkAccess(config)
  return runServer({ mode, config: { ...config, data: resolve(config.data) }, log: createLog(config) })
}
