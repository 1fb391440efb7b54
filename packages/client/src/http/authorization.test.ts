import { describe, expect, test } from 'vitest'
import { withAuthorization } from './authorization.js'

/** Believes these tokens, and notes what was sent. */
function origin(believed: () => readonly string[]) {
  const seen: (string | null)[] = []
  const fetch = async (_url: string, init: RequestInit) => {
    const header = new Headers(init.headers).get('authorization')
    seen.push(header)
    return new Response('x', { status: believed().includes(header ?? '') ? 200 : 401 })
  }
  return { fetch, seen }
}

describe('a connection with a token', () => {
  test('sends it, beside the other headers', async () => {
    const { fetch, seen } = origin(() => ['Bearer a'])
    const response = await withAuthorization(fetch, 'a')('/x', { headers: { 'if-match': '1' } })
    expect([response.status, seen]).toEqual([200, ['Bearer a']])
  })

  test('asks for one once, and again when it is refused, for all who wait', async () => {
    let made = 0
    let good = 1
    const { fetch, seen } = origin(() => [`Bearer ${good}`])
    const send = withAuthorization(fetch, async () => `${++made}`)
    await Promise.all([send('/a', {}), send('/b', {})])
    expect([made, seen]).toEqual([1, ['Bearer 1', 'Bearer 1']])
    good = 2
    const renewed = await Promise.all([send('/a', {}), send('/b', {}), send('/c', {})])
    expect([made, renewed.map(({ status }) => status)]).toEqual([2, [200, 200, 200]])
  })

  test('does not ask for ever', async () => {
    let made = 0
    const { fetch, seen } = origin(() => [])
    const response = await withAuthorization(fetch, () => `${++made}`)('/x', {})
    expect([response.status, made, seen.length]).toEqual([401, 2, 2])
    expect((await withAuthorization(fetch, 'fixed')('/x', {})).status).toBe(401)
    expect(seen.length).toBe(3)
  })

  test('tries again after none could be got', async () => {
    let made = 0
    const { fetch } = origin(() => ['Bearer ok'])
    const send = withAuthorization(fetch, async () => {
      if (++made === 1) throw new Error('offline')
      return 'ok'
    })
    await expect(send('/x', {})).rejects.toThrow('offline')
    expect((await send('/x', {})).status).toBe(200)
  })
})
