/**
 * Reads under access rules: public objects, requested without a token; objects that every signed-in caller may read; and rows
 * that only their owner may read. All three are read from one server, by a hundred callers, in turn.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { signToken } from '@freshet/server'
import { TOKEN_AUDIENCE } from '@freshet/server/configuration'
import { scriptFor } from './wrk.js'

export const READERS = ['anonymous', 'with a token', 'by a row rule'] as const
export type Reader = (typeof READERS)[number]

const SECRET = 'only for the bench: at least thirty-two bytes'
const HOUR_MS = 3_600_000
const CALLERS = 100
const RULES = `admin if claim.role == "admin"
bucket shop/products
  read
bucket shop/members
  read if authenticated
bucket shop/orders
  read if object.owner == claim.sub
`
const BUCKETS: Readonly<Record<Reader, string>> = {
  anonymous: 'products',
  'with a token': 'members',
  'by a row rule': 'orders',
}

/** The arguments of `freshet serve` besides its data. */
export async function guardedArguments(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'bench.access')
  await writeFile(file, RULES)
  return ['--rules', file, '--token-secret', SECRET]
}

/** Writes the objects, and the scripts that request them. */
export async function fillGuarded(
  url: string,
  folder: string,
  { objects, bodyBytes }: { readonly objects: number; readonly bodyBytes: number },
): Promise<Readonly<Record<Reader, string>>> {
  const tokens = await Promise.all(Array.from({ length: CALLERS }, (_, i) => authorization({ sub: callerOf(i) })))
  const admin = await authorization({ sub: 'admin', role: 'admin' })
  const indexes = Array.from({ length: objects }, (_, i) => i)
  const scripts = new Map<Reader, string>()
  for (const reader of READERS) {
    const pathOf = (i: number) => `/db/shop/${BUCKETS[reader]}/${i}`
    await commit(
      url,
      admin,
      indexes.map(i => ({ path: pathOf(i), value: objectOf(callerOf(i), bodyBytes) })),
    )
    const script = join(folder, `guarded-${BUCKETS[reader]}.lua`)
    const headersOf = (i: number) => (reader === 'anonymous' ? {} : tokens[i % CALLERS]!)
    await writeFile(script, scriptFor(indexes.map(pathOf), headersOf))
    scripts.set(reader, script)
  }
  return Object.fromEntries(scripts) as Record<Reader, string>
}

function callerOf(i: number): string {
  return `caller-${i % CALLERS}`
}

function objectOf(owner: string, bytes: number): object {
  const empty = { owner, name: '' }
  return { ...empty, name: 'x'.repeat(bytes - JSON.stringify(empty).length) }
}

async function authorization(claims: Readonly<Record<string, unknown>>): Promise<Record<string, string>> {
  const token = await signToken({ claims, audience: TOKEN_AUDIENCE, secret: SECRET, expiresMs: HOUR_MS })
  return { Authorization: `Bearer ${token}` }
}

async function commit(url: string, admin: Readonly<Record<string, string>>, writes: readonly object[]): Promise<void> {
  const response = await fetch(`${url}/commit`, {
    method: 'POST',
    headers: { ...admin, 'Content-Type': 'application/json' },
    body: JSON.stringify({ writes }),
  })
  if (!response.ok) throw new Error(`The server did not write the objects: ${await response.text()}`)
}
