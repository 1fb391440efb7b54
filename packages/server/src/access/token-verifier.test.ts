import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { TokenVerifier } from './token-verifier.js'

const SECRET = 'a secret of at least thirty-two bytes'
const BASE = { audience: 'freshet', leewayMs: 30_000 }
const KEYS = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

function pemOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

function sign(
  key: Uint8Array | KeyObject,
  alg: string,
  claims: JWTPayload = {},
  expires: string | number = '5m',
): Promise<string> {
  return new SignJWT({ sub: 'ann', aud: 'freshet', ...claims })
    .setProtectedHeader({ alg, kid: 'k1' })
    .setExpirationTime(expires)
    .sign(key)
}

const secret = new TextEncoder().encode(SECRET)

async function serve(answers: Record<string, () => unknown>): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    const answer = answers[request.url!]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer?.() ?? {}))
  })
  servers.push(server)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function jwkOf(key: KeyObject): object {
  return { ...key.export({ format: 'jwk' }), kid: 'k1' }
}

describe('a token', () => {
  test('signed with the secret is accepted, and verified once', async () => {
    const verifier = new TokenVerifier({ ...BASE, secret: SECRET })
    const token = await sign(secret, 'HS256')
    expect(await verifier.verify(token)).toMatchObject({ sub: 'ann' })
    await Promise.all([verifier.verify(token), verifier.verify(token)])
    expect(verifier.verifications).toBe(1)
  })

  test.each(['RS256', 'ES256', 'EdDSA'] as const)(
    'of %s is accepted with its public key, as PEM and as JWK',
    async alg => {
      const { publicKey, privateKey } = KEYS[alg]
      const token = await sign(privateKey, alg)
      for (const text of [
        pemOf(publicKey),
        JSON.stringify(jwkOf(publicKey)),
        JSON.stringify({ keys: [jwkOf(publicKey)] }),
      ]) {
        expect(await new TokenVerifier({ ...BASE, publicKey: text }).verify(token)).toMatchObject({ sub: 'ann' })
      }
    },
  )

  test('is accepted with the keys at a JWKS URL', async () => {
    const { url } = await serve({ '/keys': () => ({ keys: [jwkOf(KEYS.ES256.publicKey)] }) })
    const verifier = new TokenVerifier({ ...BASE, jwksUrl: `${url}/keys` })
    expect(await verifier.verify(await sign(KEYS.ES256.privateKey, 'ES256'))).toMatchObject({ sub: 'ann' })
  })

  test('is accepted with the keys that its OpenID issuer names, and only if it comes from that issuer', async () => {
    const { url } = await serve({
      '/.well-known/openid-configuration': () => ({ issuer: url, jwks_uri: `${url}/keys` }),
      '/keys': () => ({ keys: [jwkOf(KEYS.RS256.publicKey)] }),
    })
    const verifier = new TokenVerifier({ ...BASE, oidcIssuer: url })
    expect(await verifier.verify(await sign(KEYS.RS256.privateKey, 'RS256', { iss: url }))).toMatchObject({ iss: url })
    const other = await sign(KEYS.RS256.privateKey, 'RS256', { iss: 'https://evil.example' })
    await expect(verifier.verify(other)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('is refused for the time being while its keys cannot be fetched, and accepted once they can', async () => {
    const answers: Record<string, () => unknown> = {}
    const { url } = await serve(answers)
    const verifier = new TokenVerifier({ ...BASE, oidcIssuer: url })
    const token = await sign(KEYS.RS256.privateKey, 'RS256', { iss: url })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'SERVER_BUSY' })
    answers['/.well-known/openid-configuration'] = () => ({ issuer: url, jwks_uri: `${url}/keys` })
    answers['/keys'] = () => ({ keys: [jwkOf(KEYS.RS256.publicKey)] })
    expect(await verifier.verify(token)).toMatchObject({ sub: 'ann' })
  })

  test('that a local key verifies is accepted, or refused for its claims, while other keys cannot be fetched', async () => {
    const { url, asked } = await serve({})
    const verifier = new TokenVerifier({ ...BASE, publicKey: pemOf(KEYS.ES256.publicKey), oidcIssuer: url })
    const own = (expires: string | number) => sign(KEYS.ES256.privateKey, 'ES256', { iss: url }, expires)
    expect(await verifier.verify(await own('5m'))).toMatchObject({ sub: 'ann' })
    await expect(verifier.verify(await own(1))).rejects.toThrow('it has expired')
    expect(asked).toEqual([])
    const foreign = await sign(KEYS.RS256.privateKey, 'RS256', { iss: url })
    await expect(verifier.verify(foreign)).rejects.toMatchObject({ code: 'SERVER_BUSY' })
  })

  test('is refused only for the time being while some of the keys that it may be signed with cannot be fetched', async () => {
    const { url } = await serve({
      '/.well-known/openid-configuration': () => ({ issuer: url, jwks_uri: `${url}/keys` }),
      '/keys': () => ({ keys: [jwkOf(KEYS.ES256.publicKey)] }),
    })
    const verifier = new TokenVerifier({ ...BASE, jwksUrl: `${url}/missing`, oidcIssuer: url })
    const token = await sign(KEYS.RS256.privateKey, 'RS256', { iss: url })
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'SERVER_BUSY' })
  })

  test('is accepted a little past its expiry, and not later', async () => {
    const verifier = new TokenVerifier({ ...BASE, secret: SECRET })
    const nowS = Math.floor(Date.now() / 1000)
    expect(await verifier.verify(await sign(secret, 'HS256', {}, nowS - 2))).toMatchObject({ sub: 'ann' })
    const late = await sign(secret, 'HS256', {}, nowS - 60)
    await expect(verifier.verify(late)).rejects.toThrow('it has expired')
  })
})

describe('a verified token', () => {
  const MINUTE_MS = 60_000
  afterEach(() => void vi.useRealTimers())

  test('is recalled until it expires, and not a moment longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_700_000_000_000 })
    const verifier = new TokenVerifier({ ...BASE, secret: SECRET })
    const token = await sign(secret, 'HS256', {}, 1_700_000_060)
    expect(verifier.recall(token)).toBeUndefined()
    const claims = await verifier.verify(token)
    const endMs = 1_700_000_060_000 + BASE.leewayMs
    vi.setSystemTime(endMs - 1)
    expect(verifier.recall(token)).toBe(claims)
    vi.setSystemTime(endMs)
    expect(verifier.recall(token)).toBeUndefined()
    await expect(verifier.verify(token)).rejects.toThrow('it has expired')
  })

  test('is verified again after five minutes, so that it is refused if its key was withdrawn', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    let keys = [jwkOf(KEYS.ES256.publicKey)]
    const { url } = await serve({ '/keys': () => ({ keys }) })
    const verifier = new TokenVerifier({ ...BASE, jwksUrl: `${url}/keys` })
    const token = await sign(KEYS.ES256.privateKey, 'ES256', {}, '1h')
    await verifier.verify(token)
    keys = [{ ...jwkOf(KEYS.RS256.publicKey), kid: 'k2' }]
    vi.setSystemTime(Date.now() + 5 * MINUTE_MS - 1)
    expect(verifier.recall(token)).toMatchObject({ sub: 'ann' })
    vi.setSystemTime(Date.now() + 1)
    expect(verifier.recall(token)).toBeUndefined()
    // The keys themselves are kept for ten minutes.
    vi.setSystemTime(Date.now() + 6 * MINUTE_MS)
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(verifier.recall(token)).toBeUndefined()
  })

  test('is forgotten when there are too many tokens, or when they are too long together', async () => {
    const verifier = new TokenVerifier({ ...BASE, secret: SECRET })
    const longOf = (i: number) => sign(secret, 'HS256', { i, text: 'x'.repeat(5800) })
    const first = await longOf(0)
    await verifier.verify(first)
    for (let i = 1; i < 1000; i++) await verifier.verify(await longOf(i))
    expect(verifier.recall(first)).toMatchObject({ i: 0 })
    const last = await longOf(1000)
    for (let i = 1001; i < 1200; i++) await verifier.verify(await longOf(i))
    await verifier.verify(last)
    expect(verifier.recall(first)).toBeUndefined()
    expect(verifier.recall(last)).toMatchObject({ i: 1000 })
  })
})

describe('refused', () => {
  const publicPem = pemOf(KEYS.RS256.publicKey)
  const everything = { ...BASE, secret: SECRET, publicKey: publicPem, issuer: 'https://id.example' }
  const good = { iss: 'https://id.example' }
  const forge: Record<string, () => Promise<string> | string> = {
    'alg none': () => new UnsecuredJWT({ sub: 'ann', aud: 'freshet', ...good }).setExpirationTime('5m').encode(),
    'a public key taken for a secret': () => sign(new TextEncoder().encode(publicPem), 'HS256', good),
    'another secret': () => sign(new TextEncoder().encode('x'.repeat(40)), 'HS256', good),
    'another private key': () => sign(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'RS256', good),
    'HS512 with the secret': () => sign(secret, 'HS512', good),
    'another audience': () => sign(secret, 'HS256', { ...good, aud: 'elsewhere' }),
    'no audience': () =>
      new SignJWT({ sub: 'ann', ...good }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('5m').sign(secret),
    'another issuer': () => sign(secret, 'HS256', { iss: 'https://evil.example' }),
    'not valid yet': () => sign(secret, 'HS256', { ...good, nbf: Math.floor(Date.now() / 1000) + 600 }),
    'no end': () =>
      new SignJWT({ sub: 'ann', aud: 'freshet', ...good }).setProtectedHeader({ alg: 'HS256' }).sign(secret),
    'a changed payload': async () => {
      const [head, , signature] = (await sign(secret, 'HS256', good)).split('.')
      const claims = { sub: 'root', aud: 'freshet', exp: 9_999_999_999, ...good }
      return `${head}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`
    },
    'a cut signature': async () => (await sign(secret, 'HS256', good)).slice(0, -4),
    'an unknown critical header': () =>
      new SignJWT({ sub: 'ann', aud: 'freshet', ...good })
        .setProtectedHeader({ alg: 'HS256', crit: ['x'], x: 1 })
        .setExpirationTime('5m')
        .sign(secret, { crit: { x: true } }),
    nonsense: () => 'abc',
    'three dots': () => '...',
    'a very long text': () => 'a'.repeat(100_000),
  }

  test('not a good token', async () => {
    expect(await new TokenVerifier(everything).verify(await sign(secret, 'HS256', good))).toMatchObject({ sub: 'ann' })
  })

  test.each(Object.keys(forge))('%s', async name => {
    const verifier = new TokenVerifier(everything)
    const token = await forge[name]!()
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    expect(verifier.recall(token)).toBeUndefined()
  })

  test('an invalid configuration', () => {
    expect(() => new TokenVerifier({ ...BASE, secret: 'short' })).toThrow('5 bytes')
    expect(() => new TokenVerifier({ ...BASE, publicKey: 'x' })).toThrow('is not PEM')
    expect(() => new TokenVerifier({ ...BASE, jwksUrl: 'http://id.example/keys' })).toThrow('https')
  })
})
