/** Reads everything once through a cache, many at a time, as if the cache had been running for a while. */

const AT_ONCE = 200

export async function readAll(cacheUrl: string, paths: readonly string[]): Promise<void> {
  const waiting = paths.values()
  const read = async () => {
    for (const path of waiting) await fetch(cacheUrl + path).then(response => response.arrayBuffer())
  }
  await Promise.all(Array.from({ length: AT_ONCE }, read))
}
