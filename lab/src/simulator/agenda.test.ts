import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Agenda } from './agenda.js'

it('does everything by time, and in the order of entry where the time is the same', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 100 }), delays => {
      const agenda = new Agenda()
      const done: [number, number][] = []
      delays.forEach((delay, i) => {
        agenda.after(delay, () => done.push([agenda.nowMs, i]))
      })
      agenda.runUntil(100)
      const expected = delays.map((delay, i): [number, number] => [delay, i])
      expect(done).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j))
    }),
  )
})

it('stops at the end, and what was entered meanwhile counts', () => {
  const agenda = new Agenda()
  let count = 0
  const tick = () => {
    count++
    agenda.after(10, tick)
  }
  agenda.after(10, tick)
  agenda.runUntil(55)
  expect([count, agenda.nowMs]).toEqual([5, 55])
})
