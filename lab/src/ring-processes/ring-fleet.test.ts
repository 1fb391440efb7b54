import { expect, it } from 'vitest'
import { RingFleet } from './ring-fleet.js'
import type { SentOptions } from './ring-process.js'

const OPTIONS: SentOptions = {
  ...{ replicas: 5, successorsMax: 4, tickMs: 200, timeoutMs: 2000, handsCopiesOnLeave: true, inspectEveryTicks: 0 },
  ...{ waitMs: 0, graceMs: 5000, readsAtOnce: 1, isLossUnaware: false },
  ...{ copiesMin: 3, patience: 10, readsAhead: 0, versionsAtOnce: 1 },
  voting: { promiseMs: 500, driftMax: 0.01 },
}

it('peers over TCP keep reading current values when one leaves, a process is killed, comes back, and others join', async () => {
  const fleet = await RingFleet.start(3, 2, OPTIONS)
  try {
    const writeUntilDone = async (value: number) => {
      await expect
        .poll(async () => (await fleet.insert(fleet.peers[0]!, 'key', value)).state, { timeout: 60_000 })
        .toBe('committed')
      return expect
        .poll(() => fleet.retrieve(fleet.peers.at(-1)!, 'key'), { timeout: 60_000 })
        .toMatchObject({ value, isCurrent: true })
    }
    await writeUntilDone(1)
    await fleet.leave(fleet.peers[1]!)
    await writeUntilDone(2)
    const lost = fleet.kill(fleet.peers.at(-1)!)
    expect(lost.length).toBe(2)
    for (const peer of lost) await fleet.removeMember(peer)
    await writeUntilDone(3)
    await fleet.rejoin(lost)
    await fleet.settle()
    await writeUntilDone(4)
    for (const peer of await fleet.addProcess(2)) await fleet.addMember(peer)
    await fleet.settle()
    await writeUntilDone(5)
  } finally {
    fleet.stop()
  }
})

it('the rest of a roster without a majority refuses', async () => {
  const fleet = await RingFleet.start(2, 2, OPTIONS)
  try {
    await expect
      .poll(async () => (await fleet.insert(fleet.peers[0]!, 'key', 1)).state, { timeout: 60_000 })
      .toBe('committed')
    fleet.kill(fleet.peers[0]!)
    await expect
      .poll(() => fleet.retrieve(fleet.peers[0]!, 'key'), { timeout: 60_000 })
      .toMatchObject({ isCurrent: false })
    expect((await fleet.insert(fleet.peers[0]!, 'key', 2)).state).not.toBe('committed')
  } finally {
    fleet.stop()
  }
})
