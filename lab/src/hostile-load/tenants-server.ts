/** A server with two tenants, each with objects that name their owner, and tokens of every kind of user. */
import { createHmac } from 'node:crypto'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, signToken } from '@freshet/server'

export const TENANTS = ['acme', 'globex'] as const
export type Tenant = (typeof TENANTS)[number]

const SECRET = 'the secret of this run, long enough'
const HOUR_MS = 3_600_000
const NOTES = 5

const TENANT_RULES = `
admin if claim.role == "admin"
wall claim.tenants

bucket */news
  read, list
bucket */notes
  read, list if authenticated
bucket */mine
  read if object.owner == claim.sub
  list if authenticated
bucket */scratch
  read, list, write if authenticated

allow read acme/notes/1 as {"tenants":["acme"]}
deny read acme/notes/1 as {"tenants":["globex"]}
deny read acme/notes/1 as anyone
`

/** A text that only the tenant may see. */
export function secretOf(tenant: Tenant): string {
  return `private-of-${tenant}`
}

export interface Person {
  readonly name: string
  /** Undefined: may see no tenant's data. */
  readonly tenant: Tenant | undefined
  readonly token: string | undefined
}

export interface TenantsServer {
  readonly url: string
  readonly port: number
  readonly people: readonly Person[]
  stop(): Promise<void>
}

export async function startTenantsServer(): Promise<TenantsServer> {
  const store = createMemoryStore()
  const server = createFreshetServer({
    store,
    settings: { requestMsMax: 300, positionWaitMsMax: 5, compressBytesMin: 1_000_000, bodyBytesMax: 10_000 },
    access: { rules: TENANT_RULES, tokens: { secret: SECRET, audience: 'freshet', leewayMs: 0 } },
  })
  const { url, port } = await server.listen({ port: 0 })
  const admin = await tokenOf({ sub: 'root', role: 'admin' })
  for (const tenant of TENANTS) await fill(url, admin, tenant)
  return {
    url,
    port,
    people: await peopleOf(),
    stop: async () => {
      await server.close({ graceMs: 100 })
      await store.close()
    },
  }
}

async function fill(url: string, admin: string, tenant: Tenant): Promise<void> {
  const put = async (path: string, value: unknown) => {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const { ok, status } = await fetch(url + path, { method: 'PUT', headers, body: JSON.stringify(value) })
    if (!ok) throw new Error(`PUT ${path} was answered ${status}`)
  }
  for (let i = 1; i <= NOTES; i++) {
    await put(`/db/${tenant}/notes/${i}`, { text: `${secretOf(tenant)} ${i}`, i })
    await put(`/db/${tenant}/mine/${i}`, { owner: `${tenant}-ann`, text: secretOf(tenant) })
    await put(`/db/${tenant}/news/${i}`, { text: `public of ${tenant}` })
  }
}

async function peopleOf(): Promise<readonly Person[]> {
  const claims = (tenant: Tenant) => ({ sub: `${tenant}-ann`, tenants: [tenant] })
  const acme = await tokenOf(claims('acme'))
  const [head, body] = acme.split('.') as [string, string]
  const root = { ...claims('acme'), role: 'admin', aud: 'freshet', exp: 9_999_999_999 }
  const stranger = (name: string, token?: string): Person => ({ name, tenant: undefined, token })
  return [
    { name: 'acme', tenant: 'acme', token: acme },
    { name: 'globex', tenant: 'globex', token: await tokenOf(claims('globex')) },
    stranger('no token'),
    stranger('expired', await signToken({ ...SIGNING, claims: claims('acme'), expiresMs: -HOUR_MS })),
    stranger('another audience', await signToken({ ...SIGNING, claims: claims('acme'), audience: 'elsewhere' })),
    stranger('another secret', await signToken({ ...SIGNING, claims: root, secret: 'x'.repeat(40) })),
    stranger('alg none', `${encode({ alg: 'none', typ: 'JWT' })}.${encode(root)}.`),
    stranger('alg nOnE', `${encode({ alg: 'nOnE' })}.${encode(root)}.`),
    stranger('changed claims', `${head}.${encode(root)}.${acme.split('.')[2]}`),
    stranger('HS512', signedAs('HS512', 'sha512', encode(root))),
    stranger('no signature', `${head}.${body}.`),
    stranger('no tenant', await tokenOf({ sub: 'acme-ann' })),
    stranger(
      'a tenant that looks like one',
      await tokenOf({ sub: 'eve', tenants: ['acme/', 'ACME', '*', { acme: 1 }] }),
    ),
  ]
}

const SIGNING = { claims: {}, audience: 'freshet', secret: SECRET, expiresMs: HOUR_MS }

function tokenOf(claims: Record<string, unknown>): Promise<string> {
  return signToken({ ...SIGNING, claims })
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function signedAs(alg: string, hash: string, body: string): string {
  const signed = `${encode({ alg })}.${body}`
  return `${signed}.${createHmac(hash, SECRET).update(signed).digest('base64url')}`
}
