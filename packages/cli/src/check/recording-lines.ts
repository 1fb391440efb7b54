/**
 * The lines of a recording, parsed, many at a time. What is no line of a recording is told with its place. Only the last
 * one may be cut off: whoever recorded was ended while writing it.
 */
import { createReadStream } from 'node:fs'
import { type HistoryRecord, parseRecord } from '@freshet/core/history'
import { FreshetError } from '@freshet/protocol'

const CHUNK_BYTES = 1024 * 1024

export class RecordingLines {
  readonly #name: string
  #rest = ''
  #line = 0
  /** Whether the last line had no end, and made no sense. */
  isCutOff = false

  constructor(name: string) {
    this.#name = name
  }

  /** The records that are complete with this much more. Throws RECORDING_INVALID. */
  take(text: string): HistoryRecord[] {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    const records: HistoryRecord[] = []
    for (const line of lines) {
      this.#line++
      if (line !== '' && line !== '\r') records.push(this.#parse(line))
    }
    return records
  }

  /** What the end leaves. */
  finish(): HistoryRecord[] {
    if (this.#rest.trim() === '') return []
    this.#line++
    try {
      return [this.#parse(this.#rest)]
    } catch {
      this.isCutOff = true
      return []
    }
  }

  #parse(line: string): HistoryRecord {
    try {
      return parseRecord(line)
    } catch (cause) {
      throw new FreshetError('RECORDING_INVALID', `${this.#name}:${this.#line}: ${(cause as Error).message}`, { cause })
    }
  }
}

export async function* readRecording(
  path: string,
  onBytes: (bytes: number) => void,
): AsyncGenerator<HistoryRecord[], void, undefined> {
  const stream = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES })
  const lines = new RecordingLines(path === '-' ? 'standard input' : path)
  const decoder = new TextDecoder()
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      onBytes(chunk.length)
      yield lines.take(decoder.decode(chunk, { stream: true }))
    }
  } catch (error) {
    throw error instanceof FreshetError ? error : unreadable(path, error)
  }
  yield lines.finish()
}

export function unreadable(path: string, cause: unknown): FreshetError {
  const { code, message } = cause as NodeJS.ErrnoException
  const why = code === 'ENOENT' ? 'is not there' : code === 'EISDIR' ? 'is a folder' : `cannot be read: ${message}`
  return new FreshetError('RECORDING_INVALID', `The recording ${path} ${why}.`, { cause })
}
