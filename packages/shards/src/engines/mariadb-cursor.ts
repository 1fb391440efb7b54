/**
 * Rows of MariaDB piece by piece. The server sends them as fast as they are taken: while no more rows are requested, the socket
 * is not read, and the server waits for as long as `net_write_timeout` says.
 */
import type { Readable } from 'node:stream'
import type { Connection, FieldInfo } from 'mariadb'
import type { ParameterValue } from '../plan/index.js'
import type { SessionCursor, SessionResult } from './session-pool.js'

const ROWS_MAX = 256

export interface MariadbCells {
  typesOf(fields: readonly FieldInfo[]): SessionResult['types']
  cellsOf(row: readonly unknown[], types: SessionResult['types']): SessionResult['rows'][number]
}

export async function openMariadbCursor(
  connection: Connection,
  text: string,
  values: readonly ParameterValue[],
  cells: MariadbCells,
): Promise<SessionCursor> {
  const reader = new StreamReader(await begin(connection, text, values))
  const types = cells.typesOf(await reader.fields)
  return {
    types,
    get isIdle() {
      return reader.isOver
    },
    next: async () => (await reader.next()).map(row => cells.cellsOf(row, types)),
  }
}

/** A statement with parameters is prepared, and the parameters are sent as values. */
async function begin(connection: Connection, text: string, values: readonly ParameterValue[]): Promise<Readable> {
  if (values.length === 0) return connection.queryStream(text)
  const prepared = await connection.prepare(text)
  const stream = prepared.executeStream([...values])
  stream.once('end', () => prepared.close())
  return stream
}

class StreamReader {
  readonly fields: Promise<readonly FieldInfo[]>
  readonly #stream: Readable
  #failure: { readonly error: unknown } | undefined
  #wake: () => void = () => undefined
  isOver = false

  constructor(stream: Readable) {
    this.#stream = stream
    this.fields = new Promise((resolve, reject) => {
      stream.once('fields', resolve)
      stream.once('error', reject)
    })
    this.fields.catch(() => undefined)
    stream.on('readable', () => this.#wake())
    stream.once('end', () => {
      this.isOver = true
      this.#wake()
    })
    // The driver also reports the end of a connection as an error, and may do so twice.
    stream.on('error', error => {
      this.#failure ??= { error: error ?? new Error('the connection has ended') }
      this.#wake()
    })
  }

  async next(): Promise<readonly (readonly unknown[])[]> {
    const rows: (readonly unknown[])[] = []
    for (;;) {
      if (this.#failure) throw this.#failure.error
      this.#readInto(rows)
      if (rows.length > 0 || this.isOver) return rows
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  #readInto(rows: (readonly unknown[])[]): void {
    while (rows.length < ROWS_MAX) {
      const row = this.#stream.read() as readonly unknown[] | null
      if (row === null) return
      rows.push(row)
    }
  }
}
