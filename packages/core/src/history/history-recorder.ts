/** Makes the lines of one session, or of one server. Its owner supplies the times. */
import type { Path, Position, Version } from '@freshet/protocol'
import { formatRecord, RECORD_FORMAT, type SessionRecord } from './record.js'
import { createNaming, isInSample, nameOfToken } from './recorded-name.js'

export interface HistoryRecorderOptions {
  /** Takes one line, without its line end. */
  readonly write: (line: string) => void
  /** The share of paths that is recorded, from 0 to 1. */
  readonly sample?: number
  /** Records hashes under this secret instead of paths. All recorders of one history need the same secret. */
  readonly hashPaths?: string
  /** The name of the process's clock. */
  readonly clock: string
}

/** What an exchange with the server showed about its clock: when the answer came, and the least and most it was ahead then. */
export interface ClockSample {
  readonly atUs: number
  readonly leastUs: number
  readonly mostUs: number
}

export interface RecordedRead {
  readonly path: Path
  readonly beganUs: number
  readonly endedUs: number
  readonly withinMs: number | undefined
  readonly version: Version
  readonly position: Position
  readonly sessionPosition?: Position
  readonly servedFrom: string
}

export interface RecordedWrite {
  readonly op: 'write' | 'commit'
  readonly beganUs: number
  readonly endedUs: number
  readonly position: Position
  readonly written: readonly Path[]
  readonly deleted: readonly Path[]
}

export class HistoryRecorder {
  readonly #options: HistoryRecorderOptions
  readonly #share: number
  readonly #nameOf: (path: Path) => string

  constructor(options: HistoryRecorderOptions) {
    this.#options = options
    this.#share = options.sample ?? 1
    this.#nameOf = createNaming(options.hashPaths)
  }

  /** Must be written first, and again after every exchange about the time. */
  session(
    s: string,
    log: string,
    nowUs: number,
    sample: ClockSample | undefined,
    more: Pick<SessionRecord, 'role' | 'part' | 'pos'> & { readonly token?: string } = {},
  ): void {
    const { token, ...rest } = more
    this.#options.write(
      formatRecord({
        ...{ f: RECORD_FORMAT, op: 'session', s, c: this.#options.clock, log },
        t: sample?.atUs ?? nowUs,
        ...(sample === undefined ? {} : { lo: sample.leastUs, hi: sample.mostUs }),
        ...(token === undefined ? {} : { from: nameOfToken(token) }),
        ...rest,
        ...(this.#share < 1 ? { share: this.#share } : {}),
      }),
    )
  }

  read(s: string, read: RecordedRead): void {
    const path = this.#nameOf(read.path)
    if (!isInSample(path, this.#share)) return
    const { beganUs: b, endedUs: e, withinMs, version: v, position: pos, sessionPosition, servedFrom: by } = read
    this.#options.write(
      formatRecord({
        ...{ f: RECORD_FORMAT, op: 'read', s, path, b, e },
        ...(withinMs === undefined ? {} : { within: withinMs }),
        ...{ v, pos },
        ...(sessionPosition === undefined ? {} : { sp: sessionPosition }),
        by,
      }),
    )
  }

  write(s: string, { op, beganUs: b, endedUs: e, position: at, written, deleted }: RecordedWrite): void {
    const [w, d] = [this.#names(written), this.#names(deleted)]
    if (w.length === 0 && d.length === 0) return
    this.#options.write(
      formatRecord({
        ...{ f: RECORD_FORMAT, op, s, b, e, at },
        ...(w.length === 0 ? {} : { w }),
        ...(d.length === 0 ? {} : { d }),
      }),
    )
  }

  /** The session was handed on. */
  token(s: string, nowUs: number, token: string): void {
    this.#options.write(formatRecord({ f: RECORD_FORMAT, op: 'token', s, t: nowUs, token: nameOfToken(token) }))
  }

  #names(paths: readonly Path[]): string[] {
    return paths.map(this.#nameOf).filter(name => isInSample(name, this.#share))
  }
}
