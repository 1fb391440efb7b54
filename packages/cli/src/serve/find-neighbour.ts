/** Finds a Freshet server that already answers at an address: perhaps the user has started one before, in another terminal. */
const WAIT_MS_MAX = 1000

/** The address, if a Freshet server answers there. */
export async function findNeighbour(url: string): Promise<string | undefined> {
  try {
    const request = { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(WAIT_MS_MAX) }
    const { name } = (await (await fetch(`${url}/`, request)).json()) as { readonly name?: unknown }
    return name === 'freshet' ? url : undefined
  } catch {
    // No server, or one that is not Freshet: in either case there is nothing to say about it.
    return undefined
  }
}
