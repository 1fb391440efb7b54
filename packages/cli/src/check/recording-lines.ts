/**
 * The lines of a recording, parsed, many at a time. A malformed line is reported with its place. Only the last line may be cut
 * off: the recorder was ended while writing it.
 */
import { createReadStream } from 'node:fs'
import { type HistoryRecord, parseRecord } from '@freshet/core/history'
import { FreshetError } from '@freshet/protocol'

const CHUNK_BYTES = 1024 * 1024

export class RecordingLines {
  readonly #name: string
  #rest = ''
  #line = 0
  /** Whether the last line was cut off and could not be parsed. */
  isCutOff = false

  constructor(name: string) {
    this.#name = name
  }

  /** Takes the next piece of the text, and returns the records that it completes. Throws RECORDING_INVALID. */
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

  /** The record in the last line, if it has no line end. */
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
  const why = code === 'ENOENT' ? 'does not exist' : code === 'EISDIR' ? 'is a folder' : `cannot be read: ${message}`
  return new FreshetError('RECORDING_INVALID', `The recording ${path} ${why}.`, { cause })
}
