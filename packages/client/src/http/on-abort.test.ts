import { expect, test, vi } from 'vitest'
import { onAbort } from './on-abort.js'

test('a signal has one listener however many callbacks wait for it, and no listener without callbacks', () => {
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  const stops = Array.from({ length: 1000 }, () => onAbort(signal, () => {}))
  expect(added).toHaveBeenCalledTimes(1)
  expect(removed).not.toHaveBeenCalled()
  for (const stop of stops) stop()
  expect(removed).toHaveBeenCalledTimes(1)
})

test('every callback that still waits is called once', () => {
  const controller = new AbortController()
  const called: string[] = []
  onAbort(controller.signal, () => called.push('a'))
  onAbort(controller.signal, () => called.push('b'))()
  onAbort(controller.signal, () => called.push('c'))
  controller.abort()
  onAbort(controller.signal, () => called.push('late'))
  expect(called).toEqual(['a', 'c', 'late'])
})
