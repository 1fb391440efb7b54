/** Runs the command line, and returns the exit code. */
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { effectiveConfig } from '../config/effective-config.js'
import type { Mode } from '../config/option.js'
import { listOptions, type Options } from '../config/options.js'
import type { ConfigRead } from '../config/read-config.js'
import { ownVersion } from '../terminal/own-version.js'
import { tellFailure } from '../terminal/tell-failure.js'
import { type CommandLine, readCommandLine } from './command-line.js'

const EXIT_CONFIG_INVALID = 2
const OF_CONFIGURATION = ['CONFIG_INVALID', 'ACCESS_REQUIRED']

export async function runCommand(argv: readonly string[]): Promise<number> {
  try {
    const options = listOptions(availableParallelism())
    return await run(readCommandLine(argv, options), options)
  } catch (error) {
    if (!(error instanceof FreshetError) || !OF_CONFIGURATION.includes(error.code)) throw error
    // Applies even if the command line could not be read.
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
    case 'own':
      return line.run()
    case 'config':
      return showConfig(effectiveConfig(line.mode, line, options), line, options)
    default:
      return serve(line.command, effectiveConfig(line.command, line, options))
  }
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
    import('../access/access-setup.js'),
  ])
  checkAccess(config)
  return runServer({ mode, config: { ...config, data: resolve(config.data) }, log: createLog(config) })
}
