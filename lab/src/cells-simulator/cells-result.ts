/** What came of a schedule, and what went wrong in it. */
export type Fault =
  | ('lost' | 'late' | 'doubled' | 'partition' | 'join' | 'leave')
  | ('node crash' | 'coordinator crash' | 'power cut' | 'sleep')

export interface CellsResult {
  readonly violations: readonly string[]
  readonly acknowledged: number
  readonly unknown: number
  readonly refused: number
  readonly reads: number
  readonly currentReads: number
  readonly collected: number
  /** Reads at CURRENT after everything was well again, and those that were. */
  readonly lateReads: number
  readonly lateCurrentReads: number
  readonly events: number
  readonly faults: Readonly<Record<Fault, number>>
}
