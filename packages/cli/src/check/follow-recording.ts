/**
 * `freshet check --follow FILE`: reads on as the file grows, through its rotation too, and writes JSON lines: one for each
 * violation, and at intervals one with all counts so far. Ends when stopped (Ctrl-C, SIGTERM).
 */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { formatViolation, HistoryChecker, type HistorySummary, type Violation } from '@freshet/core/history'
import type { CheckLine } from './check-line.js'
import { RecordingLines, unreadable } from './recording-lines.js'

const LOOK_MS = 200
const CHUNK_BYTES = 1024 * 1024

export async function followRecording(
  { files, isComplete, tracesMax }: CheckLine,
  intervalMs: number,
): Promise<HistorySummary> {
  let reported = 0
  const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
  const onViolation = (violation: Violation) => {
    if (reported++ < tracesMax) say({ event: 'violation', trace: formatViolation(violation), ...violation })
  }
  const checker = new HistoryChecker({ isComplete, onViolation })
  const tail = new Tail(files[0]!)
  const stop = untilAsked()
  let nextMs = performance.now() + intervalMs
  while (!stop.isAsked) {
    for (const record of await tail.more()) checker.add(record)
    if (performance.now() >= nextMs) {
      nextMs += intervalMs
      // Up to tracesMax may be reported in the next interval.
      reported = 0
      say({ event: 'summary', timeMs: Date.now(), ...checker.summary() })
    }
    if (tail.isAtEnd) await stop.wait(LOOK_MS)
  }
  for (const record of await tail.finish()) checker.add(record)
  const summary = checker.finish()
  say({ event: 'end', timeMs: Date.now(), ...summary })
  return summary
}

class Tail {
  readonly #path: string
  readonly #buffer = Buffer.alloc(CHUNK_BYTES)
  #file: FileHandle | undefined
  #lines: RecordingLines
  #decoder = new TextDecoder()
  #offset = 0
  isAtEnd = false

  constructor(path: string) {
    this.#path = path
    this.#lines = new RecordingLines(path)
  }

  async more() {
    this.#file ??= await open(this.#path).catch(error => {
      throw unreadable(this.#path, error)
    })
    const { bytesRead } = await this.#file.read(this.#buffer, 0, CHUNK_BYTES, this.#offset)
    this.#offset += bytesRead
    this.isAtEnd = bytesRead === 0
    if (!this.isAtEnd)
      return this.#lines.take(this.#decoder.decode(this.#buffer.subarray(0, bytesRead), { stream: true }))
    return (await this.#isReplaced()) ? this.#startOver() : []
  }

  async finish() {
    const rest = this.#lines.finish()
    await this.#file?.close()
    return rest
  }

  /** Whether another file has its name now, or it was truncated. Until then, this file may grow. */
  async #isReplaced(): Promise<boolean> {
    const [now, then] = await Promise.all([stat(this.#path).catch(() => undefined), this.#file!.stat()])
    return now !== undefined && (now.ino !== then.ino || now.size < this.#offset)
  }

  async #startOver() {
    const rest = await this.finish()
    this.#file = undefined
    this.#offset = 0
    this.#lines = new RecordingLines(this.#path)
    this.#decoder = new TextDecoder()
    this.isAtEnd = false
    return rest
  }
}

function untilAsked() {
  let wake: () => void = () => undefined
  const asked = {
    isAsked: false,
    wait: (ms: number) =>
      new Promise<void>(resolve => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      asked.isAsked = true
      wake()
    })
  }
  return asked
}
