/**
 * The file that `--record` names. Lines are gathered for a moment and written together. When the file has reached its size, it is
 * renamed to FILE.old and replaces the one before, so both together stay within twice that size. A disk failure ends the
 * recording, not the server.
 */
import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { FreshetError } from '@freshet/protocol'
import type { ServerRecordOptions } from '@freshet/server'
import { describeError, type Log } from '@freshet/server/configuration'
import type { Config } from '../config/options.js'

const GATHER_MS = 100
const GATHER_CHARS_MAX = 256 * 1024

const NO_RECORD = 'none'

/** Which process of the server this is, of how many. */
export type Part = readonly [index: number, count: number]

export interface Recording {
  readonly record?: ServerRecordOptions
  /** Call this once no more lines will follow. */
  end(): void
}

/** Records nothing if the configuration names no file. Each of several processes has a file of its own: FILE-0, FILE-1, ... */
export function openRecording(config: Config, log: Log, part: Part): Recording {
  if (config.record === NO_RECORD) return { end: () => undefined }
  const path = part[1] === 1 ? config.record : `${config.record}-${part[0]}`
  const file = new RecordingFile(path, config.recordBytesMax, log)
  const secret = config.recordSecret === NO_RECORD ? {} : { hashPaths: config.recordSecret }
  return {
    record: { write: line => file.add(line), sample: config.recordSample, part, ...secret },
    end: () => file.end(),
  }
}

export class RecordingFile {
  readonly #path: string
  readonly #bytesMax: number
  readonly #log: Log
  #file: number | undefined
  #bytes: number
  #gathered = ''
  #timer: NodeJS.Timeout | undefined

  /** Throws if the file cannot be written. Existing content is kept. */
  constructor(path: string, bytesMax: number, log: Log) {
    this.#path = path
    this.#bytesMax = bytesMax
    this.#log = log
    this.#file = openForAppending(path)
    this.#bytes = fstatSync(this.#file).size
  }

  add(line: string): void {
    if (this.#file === undefined) return
    this.#gathered += `${line}\n`
    if (this.#gathered.length > GATHER_CHARS_MAX) this.#write()
    else this.#timer ??= setTimeout(() => this.#write(), GATHER_MS).unref()
  }

  end(): void {
    this.#write()
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#file === undefined || this.#gathered === '') return
    const bytes = Buffer.from(this.#gathered)
    this.#gathered = ''
    try {
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#bytesMax) this.#rotate()
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#file, bytes, written)
      this.#bytes += bytes.length
    } catch (error) {
      this.#log.write('error', 'recording failed and stops', { file: this.#path, ...describeError(error) })
      this.#file = undefined
    }
  }

  #rotate(): void {
    closeSync(this.#file!)
    this.#file = undefined
    renameSync(this.#path, `${this.#path}.old`)
    this.#file = openSync(this.#path, 'a', 0o600)
    this.#bytes = 0
  }
}

function openForAppending(path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (cause) {
    throw new FreshetError(
      'CONFIG_INVALID',
      `The recording ${path} cannot be written: ${(cause as Error).message}. Choose another file with --record.`,
      { cause },
    )
  }
}
