/** For tests: asks for rows line by line, and reads them as slowly as the test wants. */
import { type IncomingMessage, request } from 'node:http'
import type { SqlStreamHead } from '@freshet/protocol'
import type { RunningServer } from '@freshet/server/testing/running-server'

export interface Lines {
  readonly response: IncomingMessage
  /** The next line; undefined: there are no more. */
  next(): Promise<string | undefined>
  /** All lines that are left, and whether the answer is complete. */
  rest(): Promise<{ readonly lines: readonly string[]; readonly isWhole: boolean }>
  /** Drops the connection. */
  leave(): void
}

export interface StreamedResult {
  readonly head: SqlStreamHead
  readonly rows: readonly (readonly unknown[])[]
}

export function askForLines(server: RunningServer, q: string, p: readonly unknown[] = [], at = 0): Promise<Lines> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', accept: 'application/x-ndjson' }
    const asked = request(`${server.url}/sql`, { method: 'POST', headers, agent: false })
    asked.once('error', reject)
    asked.once('response', response => {
      asked.on('error', () => undefined)
      resolve(linesOf(response))
    })
    asked.end(JSON.stringify({ q, p, at }))
  })
}

/** Reads only while a caller waits for a line. */
function linesOf(response: IncomingMessage): Lines {
  const ready: string[] = []
  let [partial, isOver] = ['', false]
  let wake: () => void = () => undefined
  response.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${partial}${text}`.split('\n')
    partial = lines.pop()!
    ready.push(...lines)
    response.pause()
    wake()
  })
  response.once('close', () => {
    isOver = true
    wake()
  })
  // `complete` shows whether the answer was cut off.
  response.on('error', () => undefined)
  const next = async () => {
    while (ready.length === 0 && !isOver) {
      const woken = new Promise<void>(resolve => {
        wake = resolve
      })
      response.resume()
      await woken
    }
    return ready.shift()
  }
  return {
    response,
    next,
    rest: async () => {
      const rest: string[] = []
      for (let line = await next(); line !== undefined; line = await next()) rest.push(line)
      return { lines: rest, isWhole: response.complete }
    },
    leave: () => response.destroy(),
  }
}

/** Reads the whole stream. If the answer is not one, throws it. */
export async function readStreamed(
  server: RunningServer,
  q: string,
  p: readonly unknown[] = [],
  at = 0,
): Promise<StreamedResult> {
  const asked = await askForLines(server, q, p, at)
  const { lines, isWhole } = await asked.rest()
  const [head = '', ...rows] = lines
  if (asked.response.statusCode !== 200 || !isWhole) throw new Error(lines.at(-1) ?? 'nothing came')
  return { head: JSON.parse(head) as SqlStreamHead, rows: rows.map(row => JSON.parse(row)) }
}
