import { expect, test } from 'vitest'
import { Turns } from './turns.js'

function fleet(count: number): Turns[] {
  return Array.from({ length: count }, () => new Turns()).sort((a, b) => (a.server < b.server ? -1 : 1))
}

/** Every server meets a record of every server. */
function meetAll(servers: readonly Turns[], nowMs: number): void {
  for (const { note } of servers) for (const server of servers) server.meet(note, nowMs)
}

test('a server that is alone, or whose appends meet no others, does not wait', () => {
  const [a, b] = fleet(2) as [Turns, Turns]
  meetAll([a], 0)
  expect([a.waitMs(0), a.isAmongOthers(0)]).toEqual([0, false])
  meetAll([a, b], 0)
  expect([a.waitMs(0), a.isAmongOthers(0)]).toEqual([0, true])
  expect([b.waitMs(24), b.isAmongOthers(2000)]).toEqual([0, false])
})

test('servers whose appends collide take turns, and each gets one', () => {
  const servers = fleet(3)
  servers[1]!.lose()
  meetAll(servers, 0)
  const slices = new Map(servers.map(server => [server, 0]))
  for (let nowMs = 0; nowMs < 720; nowMs++) {
    const free = servers.filter(server => server.waitMs(nowMs) === 0)
    expect(free.length).toBeLessThanOrEqual(1)
    for (const server of free) slices.set(server, slices.get(server)! + 1)
    // After the wait that it computed, a server has its turn.
    for (const server of servers) expect(server.waitMs(nowMs + server.waitMs(nowMs))).toBe(0)
  }
  // A slice's last append begins while there is still time for it.
  expect([...slices.values()]).toEqual([170, 170, 170])
  expect(servers.map(server => server.waitMs(1001))).toEqual([0, 0, 0])
})

test('slices are long enough for the slowest server, and a server that has not appended lately does not wait', () => {
  const [a, b] = fleet(2) as [Turns, Turns]
  for (const ms of [500, 20, 300]) b.took(ms)
  a.lose()
  meetAll([a, b], 0)
  expect(b.note.tookMs).toBe(32)
  expect([a.waitMs(0), b.waitMs(0)]).toEqual([0, 96])
  const newcomer = new Turns()
  for (const { note } of [a, b]) newcomer.meet({ ...note, lost: 1 }, 0)
  expect(newcomer.waitMs(0)).toBe(0)
})
