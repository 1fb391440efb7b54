/**
 * A command, as its folder declares it. The registry (`command/commands.ts`) imports the declarations, and no command imports
 * the registry: a command is handed what it needs from outside its folder.
 */
import type { Config } from '../config/options.js'
import type { Environment } from '../config/value-kinds.js'

export interface CommandContext {
  readonly environment: Environment
  /** The configuration that `freshet serve` would have here. Throws CONFIG_INVALID. */
  serverConfig(configPath: string | undefined): Config
}

export interface Command {
  /** As it is typed after `freshet`. */
  readonly name: string
  /** What `freshet COMMAND --help` prints: what it does, examples to copy, its options, its exit codes. */
  readonly help: string
  /** Reads the words after its name. The returned function does the work and resolves with the exit code. Throws CONFIG_INVALID. */
  read(argv: readonly string[], context: CommandContext): () => Promise<number>
}

interface CommandDeclaration<Line> {
  readonly name: string
  readonly help: string
  /** Throws CONFIG_INVALID. */
  readonly readLine: (argv: readonly string[], environment: Environment) => Line
  /** Imports the code that does the work itself, so that `freshet --help` need not load it. */
  readonly run: (line: Line, context: CommandContext) => Promise<number>
}

/** A command whose line is read before any of its work is loaded. */
export function createCommand<Line>({ name, help, readLine, run }: CommandDeclaration<Line>): Command {
  return {
    name,
    help,
    read: (argv, context) => {
      const line = readLine(argv, context.environment)
      return () => run(line, context)
    },
  }
}
