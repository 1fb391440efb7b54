/** Sends the same requests to two servers that differ only in what the caller may not see, and compares every answer. */
import { Agent } from 'node:http'
import type { Random } from '../harness/random.js'
import { ask, type DoorAnswer } from './ask.js'
import { type DoorRequest, makeDoorRequest } from './door-requests.js'
import { hiddenOf, type Role, startTwin, type Twin, type TwinServer, tokensOfRoles } from './twin-servers.js'

export interface TwinLoad {
  readonly requests: number
  readonly random: Random
  readonly onProgress?: (done: number) => void
}

export interface TwinOutcome {
  readonly requests: number
  readonly byRole: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** Answers that differ, and hidden texts that were shown. */
  readonly leaks: readonly string[]
  readonly leakCount: number
  readonly serverErrors: readonly string[]
  readonly serverErrorCount: number
  /** Commits and remembered operations caused by strangers. */
  readonly storedByStrangers: number
}

const STRANGERS: readonly Role[] = ['anonymous', 'stranger']
const EXAMPLES_MAX = 5
/** Strangers change nothing, so the order of their requests does not matter. */
const AT_ONCE = 8
const SHARES = { strangers: 0.5, tenant: 0.3, insiders: 0.2 }
const NOT_REACHED = '"code":"POSITION_NOT_REACHED"'

export async function compareTwins({ requests, random, onProgress }: TwinLoad): Promise<TwinOutcome> {
  const tokens = await tokensOfRoles()
  const twins = { first: await startTwin('first', tokens.admin!), second: await startTwin('second', tokens.admin!) }
  const run = new TwinRun(twins, tokens, onProgress ?? (() => undefined))
  try {
    await run.learnRoutes()
    const before = await storedIn(twins.first)
    const ways = Array.from({ length: AT_ONCE }, (_, i) =>
      run.compare(STRANGERS, (requests * SHARES.strangers) / AT_ONCE, random.fork(`strangers ${i}`)),
    )
    await Promise.all(ways)
    const stored = (await storedIn(twins.first)) - before
    await run.compare(['tenant'], requests * SHARES.tenant, random.fork('tenant'))
    // These callers see hidden data, and change it: from here on the two servers differ.
    await run.askOne(['owner', 'admin'], requests * SHARES.insiders, random.fork('insiders'))
    return run.outcome(stored)
  } finally {
    run.end()
    await twins.first.stop()
    await twins.second.stop()
  }
}

async function storedIn({ store }: TwinServer): Promise<number> {
  const { foreign, clients } = await store.operationCounts()
  return (await store.position()) + foreign + clients
}

class TwinRun {
  readonly #twins: Readonly<Record<Twin, TwinServer>>
  readonly #tokens: Readonly<Record<Role, string | undefined>>
  readonly #onProgress: (done: number) => void
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 2 * AT_ONCE })
  readonly #byRole: Record<string, Record<string, number>> = {}
  readonly #leaks: string[] = []
  readonly #serverErrors: string[] = []
  #patterns: readonly string[] = []
  #done = 0

  constructor(
    twins: Readonly<Record<Twin, TwinServer>>,
    tokens: Readonly<Record<Role, string | undefined>>,
    onProgress: (done: number) => void,
  ) {
    this.#twins = twins
    this.#tokens = tokens
    this.#onProgress = onProgress
  }

  /** Learns all routes that the server lists. */
  async learnRoutes(): Promise<void> {
    const answer = await fetch(`http://127.0.0.1:${this.#twins.first.port}/openapi.json`)
    this.#patterns = Object.keys(((await answer.json()) as { paths: object }).paths)
  }

  async compare(roles: readonly Role[], count: number, random: Random): Promise<void> {
    for (let i = 0; i < count; i++) {
      const role = random.pick(roles)
      const request = this.#as(role, makeDoorRequest(random, this.#patterns))
      await this.#compareOne(role, { first: request, second: request })
    }
  }

  /** Compares the following pages too, up to the last: each server has its own cursors, which no other server can read. */
  async #compareOne(role: Role, requests: Readonly<Record<Twin, DoorRequest>>): Promise<void> {
    const request = requests.first
    const [first, second] = await Promise.all([this.#ask('first', request), this.#ask('second', requests.second)])
    this.#count(role, request, first)
    if (showsHidden(first) || showsHidden(second)) this.#leaks.push(`shown: ${describe(role, request, first)}`)
    else if (comparable(request, first) !== comparable(request, second))
      this.#leaks.push(`${describe(role, request, first)}\nbut\n${second.text}`)
    else {
      const next = { first: nextOf(request, first), second: nextOf(requests.second, second) }
      if (next.first && next.second) await this.#compareOne(role, { first: next.first, second: next.second })
    }
  }

  /** Buckets are deleted last, so that the other requests find something in them. */
  async askOne(roles: readonly Role[], count: number, random: Random): Promise<void> {
    const drawn = Array.from({ length: count }, () => {
      const role = random.pick(roles)
      return { role, request: this.#as(role, makeDoorRequest(random, this.#patterns)) }
    })
    const ordered = drawn.toSorted((a, b) => Number(mayDeleteBuckets(a.request)) - Number(mayDeleteBuckets(b.request)))
    for (const { role, request } of ordered) {
      // An admin's request that removes the rules would end the run.
      if (!request.path.toLowerCase().includes('access')) this.#count(role, request, await this.#ask('first', request))
    }
  }

  outcome(storedByStrangers: number): TwinOutcome {
    return {
      requests: this.#done,
      byRole: this.#byRole,
      leaks: this.#leaks.slice(0, EXAMPLES_MAX),
      leakCount: this.#leaks.length,
      serverErrors: this.#serverErrors.slice(0, EXAMPLES_MAX),
      serverErrorCount: this.#serverErrors.length,
      storedByStrangers,
    }
  }

  end(): void {
    this.#agent.destroy()
  }

  #as(role: Role, request: DoorRequest): DoorRequest {
    const token = this.#tokens[role]
    return token === undefined
      ? request
      : { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } }
  }

  #ask(twin: Twin, request: DoorRequest): Promise<DoorAnswer> {
    return ask(this.#agent, this.#twins[twin].port, request)
  }

  #count(role: Role, request: DoorRequest, answer: DoorAnswer): void {
    const { status } = answer
    const kind = status === 0 ? 'closed' : `${Math.floor(status / 100)}xx`
    this.#byRole[role] = { ...this.#byRole[role], [kind]: (this.#byRole[role]?.[kind] ?? 0) + 1 }
    if (status >= 500 && !isNotReached(request, answer)) this.#serverErrors.push(describe(role, request, answer))
    this.#onProgress(++this.#done)
  }
}

/** The right answer to `?at=` a position that the log has not reached. Every other 5xx is a failure. To HEAD, it has no body. */
function isNotReached({ method, path }: DoorRequest, { status, text }: DoorAnswer): boolean {
  return method === 'HEAD' ? status === 503 && /[?&]at=\d/.test(path) : text.includes(NOT_REACHED)
}

function mayDeleteBuckets({ method, path }: DoorRequest): boolean {
  return method === 'DELETE' && path.split(/[?#]/)[0]!.split('/').filter(Boolean).length <= 3
}

/** Ids made by a server, its logs, clocks and filters are its own; `/coherence` is public (docs/guides/access.md). */
function comparable({ method, path }: DoorRequest, { status, text }: DoorAnswer): string {
  const isOwn = /^\/+(?:coherence|time|openapi|demo|console|$|\?)/i.test(path)
  if (isOwn || (method === 'POST' && status === 201)) return `${status}`
  return text.replace(NEXT, (_, cursor: string) => `next of ${cursor.length}`)
}

const NEXT = /"next":"([^"]*)"/

/** The request for the page after this one. */
function nextOf(request: DoorRequest, { text }: DoorAnswer): DoorRequest | undefined {
  const cursor = NEXT.exec(text)?.[1]
  if (cursor === undefined || request.method !== 'GET') return undefined
  const [path = '', query = ''] = request.path.split('?')
  const others = query.split('&').filter(part => part !== '' && !part.startsWith('after='))
  return { ...request, path: `${path}?${[`after=${encodeURIComponent(cursor)}`, ...others].sort().join('&')}` }
}

function showsHidden({ text }: DoorAnswer): boolean {
  return text.includes(hiddenOf('first')) || text.includes(hiddenOf('second'))
}

function describe(role: Role, { method, path, headers, body }: DoorRequest, { text }: DoorAnswer): string {
  const { authorization: _, ...shown } = headers
  return `${role}: ${method} ${path} ${JSON.stringify(shown)} ${body.slice(0, 200)} -> ${text.slice(0, 600)}`
}
