import { hash } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { SignJWT } from 'jose'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jsonRequest, type RunningServer, startServer } from '../testing/running-server.js'

const SECRET = 'a secret of at least thirty-two bytes'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const RULES = 'admin if claim.role == "admin"\nwall claim.tenant\nbucket */*\n  read, list, write if authenticated\n'
const PATH = '/db/acme/notes/1'
const BODY = { n: 1 }
const RETENTION_MS = 86_400_000

let store: Store
let nowMs = 0
let running: RunningServer | undefined

beforeEach(() => {
  nowMs = 10 * RETENTION_MS
  store = createMemoryStore({ nowMs: () => nowMs })
})
afterEach(async () => {
  await running?.stop()
  running = undefined
})

const OWN = 'f1.a-client-of-our-own.1.0.864000000'

/** As the earlier version remembered it: under the plain id, with the subject in the fingerprint. */
async function doneBefore(key: string): Promise<void> {
  const text = `PUT\n${PATH}\napplication/json\n\n\nhttps://id.example ann\n${JSON.stringify(BODY)}`
  const fingerprint = hash('sha256', text, 'base64url').slice(0, 12)
  const id =
    key === OWN
      ? ({ kind: 'own', client: 'a-client-of-our-own', sequence: 1, settledTo: 0, madeMs: 864_000_000 } as const)
      : ({ kind: 'foreign', id: key } as const)
  await store.commit({
    writes: [{ key: 'acme/notes/1', contentType: 'application/json', body: Buffer.from(JSON.stringify(BODY)) }],
    operation: { id, fingerprint, note: '201 1' },
  })
}

async function send(key: string, claims: Record<string, unknown>): Promise<[number, string | null]> {
  running ??= await startServer({ store, access: { rules: RULES, tokens: TOKENS } })
  const token = await new SignJWT({ aud: 'freshet', iss: 'https://id.example', tenant: 'acme', ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  const headers = { 'idempotency-key': key, authorization: `Bearer ${token}` }
  const answer = await running.fetch(PATH, jsonRequest('PUT', BODY, headers))
  await answer.body?.cancel()
  return [answer.status, answer.headers.get('idempotency-replayed')]
}

test.each(['key', OWN])('an operation of a version without callers in its ids is not done again: %s', async key => {
  await doneBefore(key)
  expect(await send(key, { sub: 'ann' })).toEqual([201, 'true'])
})

test('only the same caller gets its result, as long as the rules allow it', async () => {
  await doneBefore('key')
  expect(await send('key', { sub: 'bob' })).toEqual([200, null])
  expect(await send('key', { sub: 'ann', tenant: 'globex' })).toEqual([403, null])
  expect(await send('another', { sub: 'ann' })).toEqual([200, null])
})

test('the server looks for it as long as it is remembered, but not in a new store', async () => {
  await doneBefore('key')
  await send('first', { sub: 'ann' })
  let lookups = 0
  const { commit } = store
  store.commit = asked => {
    if (asked.operation?.id.kind === 'foreign' && asked.operation.id.id === 'key') lookups++
    return commit.call(store, asked)
  }
  await send('key', { sub: 'ann' })
  expect(lookups).toBe(1)
  nowMs += RETENTION_MS + 1
  await send('key', { sub: 'ann' })
  expect(lookups).toBe(1)
})
