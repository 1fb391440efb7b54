import { setImmediate as nextTurn } from 'node:timers/promises'
import cassandra from 'cassandra-driver'
import { expect, test } from 'vitest'
import { type ControlConnection, createSteadyClient } from './steady-client.js'

const OPTIONS = { contactPoints: ['127.0.0.1'], localDataCenter: 'here' }

/** The members of the driver's control connection that the test replaces: the node takes one connection, then falls silent. */
interface Control extends ControlConnection {
  connection: unknown
  _refreshControlConnection(): Promise<void>
  _refreshHosts(): Promise<void>
  readonly _profileManager: { getDefaultLoadBalancing(): unknown }
}

/**
 * Loses two connections at once, then the connection that replaces them. Returns the failures, and how many connections were
 * made.
 */
async function loseTwoAtOnce(client: cassandra.Client): Promise<{ failures: unknown[]; connections: number }> {
  const { controlConnection: control } = client as unknown as { controlConnection: Control }
  const failures: unknown[] = []
  let connections = 0
  let lose = (_: Error) => {}
  const newQueryPlan = (_: unknown, __: unknown, done: (error: null, hosts: unknown) => void) => done(null, [].values())
  control._profileManager.getDefaultLoadBalancing = () => ({ newQueryPlan })
  control._refreshControlConnection = async () => {
    if (++connections > 1) return new Promise(() => {})
    control.connection = { endpoint: '127.0.0.1:9042' }
  }
  control._refreshHosts = () =>
    new Promise((_, reject) => {
      lose = reject
    })
  const note = (error: unknown) => failures.push(error)
  control._refresh().catch(note)
  await nextTurn()
  control._refresh().catch(note)
  await nextTurn()
  lose(new Error('The connection is lost.'))
  await expect.poll(() => connections).toBe(2)
  await nextTurn()
  return { failures, connections }
}

test('a client looks for one control connection at a time, where the driver alone fails', async () => {
  const alone = await loseTwoAtOnce(new cassandra.Client(OPTIONS))
  expect(alone.failures).toEqual([expect.any(TypeError)])
  expect(await loseTwoAtOnce(createSteadyClient(OPTIONS))).toEqual({ failures: [], connections: 2 })
})
