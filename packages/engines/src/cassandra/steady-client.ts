/**
 * The driver's client, without one of its bugs (NODEJS-681, in 4.10): when two connections are lost at once, the driver looks
 * for a new control connection twice. One of the two attempts fails with a TypeError that no code handles, and the process
 * ends.
 */
import cassandra from 'cassandra-driver'

/** A class of the driver, which its types leave out. */
export interface ControlConnection {
  _refresh(hosts?: unknown): Promise<void>
}

const AGAIN_MS = 1000

export function createSteadyClient(options: cassandra.ClientOptions): cassandra.Client {
  const client = new cassandra.Client(options)
  const control = (client as unknown as { readonly controlConnection: ControlConnection }).controlConnection
  const refresh = control._refresh.bind(control)
  let refreshing: Promise<void> | undefined
  control._refresh = hosts => {
    // With `hosts`, the driver continues an attempt that it has begun.
    if (hosts !== undefined) return refresh(hosts)
    refreshing ??= refresh()
      .catch(() => {
        setTimeout(() => control._refresh(), AGAIN_MS).unref()
      })
      .finally(() => {
        refreshing = undefined
      })
    return refreshing
  }
  return client
}
