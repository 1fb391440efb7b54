import type { IncomingMessage } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { ClientAddresses } from './client-addresses.js'
import type { Exchange } from './exchange.js'
import { RefusalLog } from './refusal-log.js'

test('an attacker with many addresses or many requests causes a bounded number of lines, and all refusals are counted', () => {
  const lines: Record<string, unknown>[] = []
  let nowMs = 0
  const log = {
    level: 'info' as const,
    write: (_: string, message: string, fields = {}) => void lines.push({ message, ...fields }),
  }
  const refusals = new RefusalLog(log, new ClientAddresses(), () => nowMs)
  const refuse = (remoteAddress: string) => {
    const request = { socket: { remoteAddress }, headers: {}, url: '/audit?secret=1' } as unknown as IncomingMessage
    refusals.note(
      { request, method: 'GET', subject: '', requestId: 'r' } as Exchange,
      new FreshetError('FORBIDDEN', 'No.'),
    )
  }
  for (let i = 0; i < 1000; i++) refuse('10.0.0.1')
  expect(lines).toMatchObject([{ message: 'refused', from: '10.0.0.1', path: '/audit' }])
  for (let i = 0; i < 5000; i++) refuse(`10.1.${i >> 8}.${i & 255}`)
  expect(lines.length).toBe(200)
  nowMs = 10_000
  refuse('10.0.0.1')
  expect(lines.slice(200)).toMatchObject([
    { message: 'refused again', network: '10.0.0.1', times: 999 },
    { message: 'refused, from further addresses', times: 4801 },
    { message: 'refused', from: '10.0.0.1' },
  ])
})
