/**
 * Reads of data that may not be on disk yet.
 *
 * InnoDB shows a commit to others, and releases its locks, before it flushes it (`innobase_commit`,
 * storage/innobase/handler/ha_innodb.cc: `innobase_commit_ordered_2`, then `trx_commit_complete_for_mysql`). So a reader may
 * see what a power failure then takes back. Therefore a result beyond the position that is known to be durable is read again
 * here, and returned only after a change of our own, made later on the same connection, has been committed. The log is
 * flushed from its beginning, so by then everything that the read could see is on disk. One flush serves all reads that are
 * waiting.
 */
import type { MariadbConnection, Row } from './mariadb-connection.js'
import type { Statement } from './statements.js'

interface Task {
  readonly statement: Statement
  readonly resolve: (rows: readonly Row[]) => void
  readonly reject: (error: unknown) => void
}

export class DurableReads {
  readonly #line: MariadbConnection
  readonly #flush: Statement
  #waiting: Task[] = []
  #isRunning = false

  constructor(line: MariadbConnection, flush: Statement) {
    this.#line = line
    this.#flush = flush
  }

  rows(statement: Statement): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve, reject })
      if (!this.#isRunning) this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const tasks = this.#waiting
      this.#waiting = []
      await this.#round(tasks).catch(error => {
        for (const { reject } of tasks) reject(error)
      })
    }
    this.#isRunning = false
  }

  async #round(tasks: readonly Task[]): Promise<void> {
    const link = await this.#line.connected()
    const found = await Promise.allSettled(tasks.map(({ statement }) => this.#line.rowsOn(link, statement)))
    await this.#line.rowsOn(link, this.#flush)
    for (const [i, { resolve, reject }] of tasks.entries()) {
      const outcome = found[i]!
      if (outcome.status === 'fulfilled') resolve(outcome.value)
      else reject(outcome.reason)
    }
  }
}
