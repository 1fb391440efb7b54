/**
 * The driver's client, without a fault of it (NODEJS-681, in 4.10): when two connections are lost at once it looks for a new control
 * connection twice, one of the two fails with a TypeError that nobody waits for, and the process ends.
 */
import cassandra from 'cassandra-driver'

/** Of the driver's, and not told by its types. */
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
    // With hosts it goes on with what it has begun.
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
