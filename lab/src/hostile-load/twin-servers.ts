/**
 * Two servers that differ only in what some callers may not see: rows of another user, and buckets of another tenant. Both have
 * had the same number of commits, so positions are equal. Those callers must get the same bytes from both.
 */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, signToken } from '@freshet/server'

export const SECRET = 'the secret of this run, long enough'
const HOUR_MS = 3_600_000

/** `acme` is one tenant, with ann and bob in it; `globex` is another. */
export const TWIN_RULES = `
admin if claim.role == "admin"
wall claim.tenants
quota globex requests 1000000 per day

bucket acme/news
  read, list
bucket */notes
  read, list, write if claim.role == "member"
bucket */mine
  list if claim.role == "member"
  read, update, delete if object.owner == claim.sub
  create if new.owner == claim.sub
bucket */links
  read, list, write if claim.role == "member"
bucket */tally
  read, list, update if id startsWith claim.sub
bucket */vault
  read, list, write if claim.level == "top"
`

export const ROLES = ['anonymous', 'stranger', 'tenant', 'owner', 'admin'] as const
export type Role = (typeof ROLES)[number]

const CLAIMS: Readonly<Record<Role, Record<string, unknown> | undefined>> = {
  anonymous: undefined,
  stranger: { sub: 'eve' },
  tenant: { sub: 'bob', role: 'member', tenants: ['acme'] },
  owner: { sub: 'ann', role: 'member', tenants: ['acme'] },
  admin: { sub: 'root', role: 'admin' },
}

/** The two servers, named after the hidden data that they have. */
export type Twin = 'first' | 'second'

/** Ids of hidden rows: some that only one of the two has, and one that both have with other values. */
export const HIDDEN_IDS = ['h-both', 'h-first', 'h-second'] as const

export interface TwinServer {
  readonly port: number
  readonly store: Store
  stop(): Promise<void>
}

export async function tokensOfRoles(): Promise<Readonly<Record<Role, string | undefined>>> {
  const tokens: Partial<Record<Role, string>> = {}
  for (const role of ROLES) {
    const claims = CLAIMS[role]
    if (claims !== undefined)
      tokens[role] = await signToken({ claims, audience: 'freshet', secret: SECRET, expiresMs: HOUR_MS })
  }
  return tokens as Record<Role, string | undefined>
}

export async function startTwin(twin: Twin, adminToken: string): Promise<TwinServer> {
  const store = createMemoryStore({ positionsAfter: 0 })
  const server = createFreshetServer({
    store,
    settings: { positionWaitMsMax: 5, compressBytesMin: 1_000_000, bodyBytesMax: 10_000 },
    access: { rules: TWIN_RULES, tokens: { secret: SECRET, audience: 'freshet', leewayMs: 0 } },
  })
  const { url, port } = await server.listen({ port: 0 })
  for (const [path, value] of contentOf(twin)) {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'PUT', headers, body: JSON.stringify(value) })
    if (!answer.ok) throw new Error(`PUT ${path} was answered ${answer.status}: ${await answer.text()}`)
  }
  const stop = async () => {
    await server.close({ graceMs: 100 })
    await store.close()
  }
  return { port, store, stop }
}

function contentOf(twin: Twin): readonly (readonly [path: string, value: unknown])[] {
  const isFirst = twin === 'first'
  const reference = { type: 'string', 'x-reference': { bucket: 'acme/mine', check: true } }
  const indexes = ['n', 'owner'].map(name => ({ name, fields: [name] }))
  return [
    ['/db/acme/mine', { kind: 'object', indexes }],
    ['/db/acme/links', { kind: 'object', schema: { properties: { to: reference } } }],
    ['/db/acme/tally', { kind: 'counter' }],
    ['/db/acme/news/1', { text: 'public' }],
    ...[1, 2, 3].map(n => [`/db/acme/notes/${n}`, { n, text: 'of all members' }] as const),
    ...[1, 2, 3].map(n => [`/db/acme/mine/bob-${n}`, { owner: 'bob', n, text: 'visible' }] as const),
    // From here on the two servers differ.
    ['/db/acme/mine/h-both', { owner: 'ann', n: isFirst ? 1 : 7, text: `${hiddenOf(twin)} in both` }],
    [`/db/acme/mine/h-${twin}`, { owner: 'ann', n: isFirst ? 2 : 9, text: hiddenOf(twin) }],
    ['/db/acme/tally/ann-1', isFirst ? 3 : 4],
    [`/db/globex/${isFirst ? 'objects' : 'others'}/1`, { text: hiddenOf(twin) }],
    ['/db/globex/twisted', { kind: isFirst ? 'kv' : 'counter' }],
    [`/db/globex/notes/${isFirst ? 'x' : 'y'}`, { text: hiddenOf(twin) }],
    ['/db/acme/vault/1', { text: hiddenOf(twin), n: isFirst ? 1 : 2 }],
  ]
}

/** A text that only the owner and admins may see. */
export function hiddenOf(twin: Twin): string {
  return `hidden-${twin}`
}
