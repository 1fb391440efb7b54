/** The first connection of a reader or a writer, made while servers and caches are killed and restarted. */
import { type ConnectOptions, connect, type Database, FreshetError } from '@freshet/client'

/** Tries until it succeeds. Undefined if the load ends first. */
export async function connectMeanwhile(
  url: string,
  options: ConnectOptions,
  isOver: () => boolean,
): Promise<Database | undefined> {
  while (!isOver()) {
    try {
      return await connect(url, options)
    } catch (error) {
      // The client has tried several times, with pauses. A cache on a busy machine can take longer to start.
      if (!(error instanceof FreshetError)) throw error
    }
  }
  return undefined
}
