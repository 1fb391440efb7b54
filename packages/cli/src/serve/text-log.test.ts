import { expect, test } from 'vitest'
import { createTextLog } from './text-log.js'

test('a line has the time, the level, the message and its fields; lines below the level are left out', () => {
  const lines: string[] = []
  const log = createTextLog({
    level: 'info',
    write: line => lines.push(line),
    now: () => new Date(2026, 0, 2, 3, 4, 5),
  })
  log.write('error', 'worker died', { worker: 1, how: 'exit code 1' })
  log.write('info', 'listening', { url: 'http://127.0.0.1:7700' })
  log.write('request', 'GET /')
  expect(lines).toEqual([
    '03:04:05 error   worker died worker=1 how="exit code 1"\n',
    '03:04:05 info    listening url=http://127.0.0.1:7700\n',
  ])
})
