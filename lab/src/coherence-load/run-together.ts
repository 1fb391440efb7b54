/** Runs the parts of a load (readers, writers, faults) at the same time. */

/** A run is stuck if it takes longer than this per read. */
export const READ_MS_MAX = 50

export interface TogetherOptions {
  /** Every part calls this again and again. */
  readonly isDone: () => boolean
  /** A run that takes longer ends anyway. */
  readonly msMax: number
}

/** Returns when all parts have ended. The first failure ends the other parts, and its error is thrown. */
export async function runTogether(
  { isDone, msMax }: TogetherOptions,
  start: (isOver: () => boolean) => readonly Promise<void>[],
): Promise<void> {
  const deadlineMs = performance.now() + msMax
  let hasFailed = false
  const isOver = () => isDone() || hasFailed || performance.now() > deadlineMs
  const parts = start(isOver).map(part =>
    part.catch(error => {
      hasFailed = true
      throw error
    }),
  )
  await Promise.allSettled(parts)
  await Promise.all(parts)
}
