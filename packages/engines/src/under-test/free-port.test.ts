import { expect, test } from 'vitest'
import { freePort } from './free-port.js'

test('a port is never given twice, even if no process listens there yet', async () => {
  const ports = new Set<number>()
  for (let i = 0; i < 500; i++) ports.add(await freePort())
  expect(ports.size).toBe(500)
})
