/**
 * A command, as its folder declares it. The registry (`command/commands.ts`) imports the declarations, and no command imports
 * the registry: a command gets what it needs from outside its folder as arguments.
 */
import type { Config } from '../config/options.js'
import type { Environment } from '../config/value-kinds.js'

export interface CommandContext {
  readonly environment: Environment
  /** The configuration that `freshet serve` would use here. Throws CONFIG_INVALID. */
  serverConfig(configPath: string | undefined): Config
}

export interface Command {
  /** The word after `freshet`. */
  readonly name: string
  /** What `freshet COMMAND --help` prints: what it does, examples to copy, its options, its exit codes. */
  readonly help: string
  /**
   * Parses the arguments after its name. The returned function does the work and resolves with the exit code. Throws
   * CONFIG_INVALID.
   */
  read(argv: readonly string[], context: CommandContext): () => Promise<number>
}

interface CommandDeclaration<Line> {
  readonly name: string
  readonly help: string
  /** Throws CONFIG_INVALID. */
  readonly readLine: (argv: readonly string[], environment: Environment) => Line
  /** It must import the code that does the work when called, so that `freshet --help` need not load it. */
  readonly run: (line: Line, context: CommandContext) => Promise<number>
}

/** A command whose command line is read before the code that does its work is loaded. */
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
