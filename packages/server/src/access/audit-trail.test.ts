import { createMemoryStore } from '@freshet/engines/memory'
import { expect, test } from 'vitest'
import { createJsonLog } from '../monitoring/log.js'
import { type Audited, readAudit } from './audit.js'
import { AuditTrail } from './audit-trail.js'

const query: Audited = { who: 'iss ann', from: '10.0.0.1', what: 'sql', before: null, after: 'SELECT 1' }

test('a statement that changes something is audited before it runs; queries soon after, equal ones as one entry', async () => {
  const store = createMemoryStore()
  const lines: string[] = []
  const trail = new AuditTrail(store, createJsonLog({ write: line => lines.push(line) }))
  await trail.record({ ...query, what: 'global', after: 'DELETE FROM orders' })
  expect((await readAudit(store, undefined, 10)).entries).toMatchObject([
    { what: 'global', after: 'DELETE FROM orders' },
  ])
  for (let i = 0; i < 500; i++) trail.note(query)
  trail.note({ ...query, from: '10.0.0.2' })
  await trail.stop()
  const { entries } = await readAudit(store, undefined, 10)
  expect(entries).toMatchObject([
    { what: 'global' },
    { what: 'sql', who: 'iss ann', from: '10.0.0.1', after: 'SELECT 1', times: 500 },
    { what: 'sql', from: '10.0.0.2', times: 1 },
  ])
  expect(lines).toHaveLength(3)
})
