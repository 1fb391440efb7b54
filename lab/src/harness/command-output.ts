/**
 * Where a command writes. People read the report, programs read the last line of stdout: with --json the report moves
 * to stderr and stdout holds the JSON alone.
 */
import type { ProgressOutput } from './progress.js'

export interface CommandOutput {
  readonly stdout: ProgressOutput
  readonly stderr: ProgressOutput
}

export interface Reporter {
  /** Where progress is drawn. */
  readonly stream: ProgressOutput
  say(text: string): void
  /** Writes the result as JSON if the caller passed --json. */
  answer(result: Readonly<Record<string, unknown>>): void
}

export function createReporter(output: CommandOutput, json: boolean): Reporter {
  const stream = json ? output.stderr : output.stdout
  return {
    stream,
    say: text => void stream.write(`${text}\n`),
    answer: result => void (json && output.stdout.write(`${JSON.stringify(result)}\n`)),
  }
}
