/**
 * The clock of recordings: whole microseconds that never repeat, one clock for all sessions of this process, so that their
 * operations are in one order. It is not the session's clock: that one may run fast, and this one must not.
 */
export interface RecordClock {
  /** Distinguishes it from the clocks of other processes. */
  readonly id: string
  readonly nowUs: () => number
}

function createRecordClock(id: string, nowMs: () => number): RecordClock {
  let lastUs = Number.NEGATIVE_INFINITY
  return {
    id,
    nowUs: () => {
      lastUs = Math.max(lastUs + 1, Math.floor(nowMs() * 1000))
      return lastUs
    },
  }
}

let ofProcess: RecordClock | undefined

export function processClock(): RecordClock {
  ofProcess ??= createRecordClock(createRecordId(), () => performance.now())
  return ofProcess
}

/** 48 random bits. */
export function createRecordId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')
}
