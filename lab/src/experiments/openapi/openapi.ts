/**
 * The server does what its `/openapi.json` says. Schemathesis generates requests from the document, valid and invalid, and
 * the server answers each as documented and without a 5xx. The run is repeated three times: without rules, as a caller whose
 * token allows nothing, and as an admin.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, signToken } from '@freshet/server'
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { installSchemathesis, type Ran, runSchemathesis } from './schemathesis.js'

const SECRET = 'a secret of at least thirty-two bytes'
const RULES = 'admin if claim.role == "admin"\nbucket shop/*\n  read, list, write if claim.role == "member"\n'
const TOKENS = { secret: SECRET, audience: 'freshet', leewayMs: 0 }
const HOUR_MS = 3_600_000
const CASES = { quick: 15, full: 150 }

const ROLES = ['without rules', 'stranger', 'admin'] as const
type Role = (typeof ROLES)[number]

export const openapi: Experiment = {
  source: 'our own: tools that read the document can rely on it',
  async run(context) {
    await installSchemathesis()
    const results: (readonly [Role, Ran])[] = []
    for (const role of ROLES) {
      context.progress(results.length, ROLES.length, role)
      results.push([role, await runAs(role, context)])
    }
    context.progress(ROLES.length, ROLES.length)
    const sum = (of: (ran: Ran) => number) => results.reduce((total, [, ran]) => total + of(ran), 0)
    const cases = sum(ran => ran.cases)
    const serverErrors = sum(ran => ran.serverErrors)
    const violations = sum(ran => ran.violations)
    const found = results.flatMap(([role, ran]) => ran.found.map(each => `${role}: ${each}`)).join('; ')
    return {
      summary: { cases, serverErrors, violations },
      tables: [
        {
          title: 'Findings',
          columns: ['as', 'cases', 'answered 5xx', 'not as documented'],
          rows: results.map(([role, ran]) => [role, ran.cases, ran.serverErrors, ran.violations]),
        },
      ],
      plots: [],
      verdicts: [
        { claim: 'no request is answered with a 5xx', holds: serverErrors === 0, detail: found || `${cases} cases` },
        { claim: 'every answer is as documented', holds: violations === 0, detail: found || `${cases} cases` },
      ],
    }
  },
}

async function runAs(role: Role, { quick, seed }: ExperimentContext): Promise<Ran> {
  const store = createMemoryStore()
  const access = role === 'without rules' ? {} : { access: { rules: RULES, tokens: TOKENS } }
  const server = createFreshetServer({ store, ...access })
  const folder = await mkdtemp(join(tmpdir(), 'freshet-openapi-'))
  try {
    const { url } = await server.listen({ port: 0 })
    await fill(url, await tokenOf('admin'))
    const token = role === 'without rules' ? undefined : await tokenOf(role)
    const casesPerOperation = quick ? CASES.quick : CASES.full
    return await runSchemathesis({ url, token, seed, casesPerOperation, folder })
  } finally {
    await server.close({ graceMs: 100 })
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function tokenOf(role: string): Promise<string> {
  return signToken({ claims: { sub: role, role }, audience: 'freshet', secret: SECRET, expiresMs: HOUR_MS })
}

/** Creates one bucket of each kind, so that every kind of answer occurs. */
async function fill(url: string, admin: string): Promise<void> {
  const send = async (method: string, path: string, value: unknown) => {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const { ok, status } = await fetch(`${url}/db/shop/${path}`, { method, headers, body: JSON.stringify(value) })
    if (!ok) throw new Error(`${method} ${path} was answered ${status}`)
  }
  await send('PUT', 'products', { kind: 'object', indexes: [{ name: 'by-price', fields: ['price'] }] })
  await send('PUT', 'files', { kind: 'kv' })
  await send('PUT', 'views', { kind: 'counter', decimals: 2 })
  for (const id of ['1', '2']) {
    await send('PUT', `products/${id}`, { price: Number(id), name: 'tea' })
    await send('PUT', `files/${id}`, ['any', 'value'])
    await send('POST', `views/${id}`, { add: 1.25 })
  }
}
