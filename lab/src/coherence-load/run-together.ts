/** What a load is made of (readers, writers, faults), all of it at the same time. */

/** A run that takes longer than this for each read is stuck. */
export const READ_MS_MAX = 50

export interface TogetherOptions {
  /** Asked again and again by every part. */
  readonly isDone: () => boolean
  /** A run that takes longer ends all the same. */
  readonly msMax: number
}

/** Returns when all parts have ended. The first that fails ends the others, and its error is thrown. */
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
