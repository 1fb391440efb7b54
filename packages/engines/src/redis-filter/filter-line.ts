/** A filter's connection to Redis: runs commands that belong together, and reports errors as a filter does. */
import { FilterError } from '@freshet/bloom'
import { type Argument, type Client, connectTo, type Reply, type Script, whereOf } from '../redis/client.js'
import { refusalOf, unavailable, wordOf } from '../redis/redis-errors.js'

export class FilterLine {
  readonly #client: Client
  readonly #where: string

  constructor(client: Client, where: string) {
    this.#client = client
    this.#where = where
  }

  static async open(url: string): Promise<FilterLine> {
    const where = whereOf(url)
    try {
      return new FilterLine(await connectTo(url, { reconnects: true }), where)
    } catch (error) {
      throw explain(where, error)
    }
  }

  /** Runs commands with nothing in between: one is sent as it is, several as a transaction. */
  async send(commands: readonly (readonly Argument[])[]): Promise<readonly Reply[]> {
    try {
      if (commands.length === 1) return [await this.#client.sendCommand(commands[0]!)]
      return await this.#transact(commands)
    } catch (error) {
      throw explain(this.#where, error)
    }
  }

  /** Without the driver's own transaction, which returns text where bytes were requested. */
  async #transact(commands: readonly (readonly Argument[])[]): Promise<readonly Reply[]> {
    const chain = { chainId: Symbol('transaction') }
    const sent = [['MULTI'], ...commands, ['EXEC']].map(command => this.#client.sendCommand(command, chain))
    const answers = (await Promise.all(sent)).at(-1) as readonly Reply[]
    for (const answer of answers) if (answer instanceof Error) throw answer
    return answers
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    try {
      return await script.run(this.#client, keys[0]!, args, keys.slice(1))
    } catch (error) {
      throw explain(this.#where, error)
    }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

function explain(where: string, error: unknown): unknown {
  if (error instanceof FilterError) return error
  return wordOf(error) === undefined ? unavailable(where, 'unknown', error) : refusalOf(where, error)
}
