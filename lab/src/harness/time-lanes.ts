/**
 * Nanoseconds per piece of work, with `lanes` pieces at a time. Measured as wall-clock time, for work that waits for an
 * engine.
 */
export async function timeLanes(count: number, lanes: number, work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  const startMs = performance.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  return ((performance.now() - startMs) * 1e6) / count
}
