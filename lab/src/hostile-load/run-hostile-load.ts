/** Sends hostile requests through one cache, and checks every answer: what it shows to whom, and whether it may be cached. */
import { connect } from 'node:net'
import type { Random } from '../harness/random.js'
import { makeRequest } from './make-request.js'
import { type Person, secretOf, TENANTS } from './tenants-server.js'

export interface HostileLoad {
  readonly port: number
  readonly people: readonly Person[]
  readonly requests: number
  readonly random: Random
  readonly onProgress?: (done: number) => void
}

export interface HostileOutcome {
  readonly requests: number
  readonly malformed: number
  /** The other requests were answered by closing the connection. */
  readonly answered: number
  readonly byClass: Readonly<Record<string, number>>
  /** Failures of our server, and of caches on the way. */
  readonly ownFailures: readonly string[]
  readonly othersFailures: number
  /** Counts by status: 400s are not failures. */
  readonly othersStatuses: Readonly<Record<string, number>>
  /** Answers that showed data to a user without permission. */
  readonly leaks: readonly string[]
  /** Answers marked as cacheable that must not be, and errors that were served twice. */
  readonly kept: readonly string[]
  /** How often a user was shown their own data, and how often public data. */
  readonly ownShown: number
  readonly publicShown: number
}

/** Many requests wait for an answer that never comes. */
const CONCURRENT = 192
const ANSWER_MS_MAX = 3000
const EXAMPLES_MAX = 5

export async function runHostileLoad({
  port,
  people,
  requests,
  random,
  onProgress,
}: HostileLoad): Promise<HostileOutcome> {
  const tally = new Tally()
  let sent = 0
  let malformed = 0
  const worker = async () => {
    while (sent < requests) {
      sent++
      const { person, bytes, isMalformed } = makeRequest(random, people)
      if (isMalformed) malformed++
      tally.take(person, bytes, await exchange(port, bytes))
      onProgress?.(sent)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, worker))
  return { ...tally.outcome(), requests, malformed }
}

/** `100 Continue` and its like, which come before the answer. */
const INTERIM = /^(?:HTTP\/1\.[01] 1\d\d(?:[^\r]|\r(?!\n\r\n))*\r\n\r\n)+/

class Tally {
  #answered = 0
  #othersFailures = 0
  readonly #othersStatuses: Record<string, number> = {}
  #ownShown = 0
  #publicShown = 0
  readonly #byClass: Record<string, number> = {}
  readonly #ownFailures: string[] = []
  readonly #leaks: string[] = []
  readonly #kept: string[] = []
  readonly #requestIds = new Set<string>()

  take(person: Person, request: Buffer, answer: string): void {
    const final = answer.replace(INTERIM, '')
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(final)?.[1]
    if (status === undefined) return
    this.#answered++
    const kind = `${status[0]}xx`
    this.#byClass[kind] = (this.#byClass[kind] ?? 0) + 1
    const headers = final.slice(0, final.indexOf('\r\n\r\n')).toLowerCase()
    const describe = () =>
      `${person.name}: ${JSON.stringify(request.toString('latin1').slice(0, 200))} -> ${answer.slice(0, 300)}`
    // Searches all bytes, because a cache may cut an answer, or join two.
    for (const tenant of TENANTS) {
      if (!answer.includes(secretOf(tenant))) continue
      if (person.tenant === tenant) this.#ownShown++
      else this.#leaks.push(describe())
      if (!headers.includes('cache-control: private, no-store')) this.#kept.push(describe())
    }
    if (answer.includes('public of')) this.#publicShown++
    const isOurs = headers.includes('application/problem+json')
    if (kind === '5xx' && (isOurs || !headers.includes('content-type: text/'))) this.#ownFailures.push(describe())
    else if (kind === '5xx') {
      this.#othersFailures++
      this.#othersStatuses[status] = (this.#othersStatuses[status] ?? 0) + 1
    }
    if (isOurs) this.#checkProblem(headers, describe)
  }

  outcome(): Omit<HostileOutcome, 'requests' | 'malformed'> {
    return {
      answered: this.#answered,
      byClass: this.#byClass,
      ownFailures: this.#ownFailures.slice(0, EXAMPLES_MAX),
      othersFailures: this.#othersFailures,
      othersStatuses: this.#othersStatuses,
      leaks: this.#leaks.slice(0, EXAMPLES_MAX),
      kept: this.#kept.slice(0, EXAMPLES_MAX),
      ownShown: this.#ownShown,
      publicShown: this.#publicShown,
    }
  }

  /** Each answer has its own id: an id that occurs twice came out of a cache. */
  #checkProblem(headers: string, describe: () => string): void {
    const id = /x-request-id: (\S+)/.exec(headers)?.[1]
    if (!headers.includes('no-store') || (id !== undefined && this.#requestIds.has(id))) this.#kept.push(describe())
    if (id !== undefined) this.#requestIds.add(id)
  }
}

/** Everything received until the connection ends. */
function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    const finish = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(received)
    }
    const timer = setTimeout(finish, ANSWER_MS_MAX)
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk
    })
    socket.on('end', finish).on('error', finish).on('close', finish)
    socket.write(bytes)
  })
}
