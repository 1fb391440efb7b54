/**
 * Additions to counters: `POST /db/{namespace}/{bucket}/{id}` adds to one, `POST /db/{namespace}/{bucket}` to many. Each
 * addition is a separate operation, with its own key if it has one. Additions do not wait for each other: the store puts those
 * that arrive together into one transaction, whichever counters they change.
 */
import { formatUnits } from '@freshet/core/counters'
import {
  FreshetError,
  formatEtag,
  type OperationId,
  type Problem,
  parseOperationId,
  toProblem,
} from '@freshet/protocol'
import type { Caller } from '../../access/caller.js'
import type { BucketDirectory } from '../../buckets/bucket-directory.js'
import { bucketNameOf, type ObjectName, objectIn, objectNameOf } from '../../buckets/object-name.js'
import { matchRequired, tooMuchContention } from '../../buckets/refusals.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import { type Answer, jsonTextAnswer } from '../../http/answer.js'
import { isPromise } from '../../http/maybe-promise.js'
import { readBody } from '../../http/request-body.js'
import type { AnswerNote } from '../../idempotency/answer-note.js'
import { type Idempotency, type Outcome, operationWith, outcomeOf, REPLAYED } from '../../idempotency/idempotency.js'
import {
  type AskedOperation,
  askedBy,
  fingerprintOf as hashOf,
  readOperation,
} from '../../idempotency/read-operation.js'
import { readMembers } from '../../json/json-text.js'
import type { Call } from '../../routing/call.js'
import { overLimit } from '../../settings/limits.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import { claimantOf } from '../../writing/claimant-of.js'
import { ATTEMPTS_MAX, type Committer, checkNotDeleting, SETTINGS_BY_DEFAULT } from '../../writing/committer.js'
import { additionOf, noCounter } from '../../writing/counter-values.js'

export interface CounterAdditionsOptions {
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly buckets: BucketDirectory
  readonly idempotency: Idempotency
  readonly committer: Committer
}

const FINGERPRINT_LENGTH_MAX = 24

interface Counted {
  readonly id: string
  /** The value as JSON, with all its digits. */
  readonly value: string
  readonly position: number
  readonly isReplayed: boolean
}

interface AskedAddition {
  readonly id: string
  readonly add: unknown
  readonly key: OperationId | undefined
}

export class CounterAdditions {
  readonly #options: CounterAdditionsOptions

  constructor(options: CounterAdditionsOptions) {
    this.#options = options
  }

  async one({ exchange, caller, names }: Call): Promise<Answer> {
    const { bodyBytesMax, idBytesMax } = this.#options.settings
    const name = objectNameOf(names, idBytesMax)
    const body = await readBody(exchange, bodyBytesMax, 'bodyBytesMax')
    const asked = readMembers(body, 1)
    checkMembers(asked, ['add'])
    const counted = await this.#add(name, asked.add, readOperation(exchange.request, body, caller), caller)
    const { position, isReplayed } = counted
    return jsonTextAnswer(`{${spell(counted)}}`, [
      ...['ETag', formatEtag(position), 'Freshet-Position', `${position}`],
      ...(isReplayed ? REPLAYED : []),
    ])
  }

  async many({ exchange, caller, names }: Call): Promise<Answer> {
    const { settings } = this.#options
    const body = await readBody(exchange, settings.commitBodyBytesMax, 'commitBodyBytesMax')
    const bucket = bucketNameOf(names)
    const results = await Promise.all(
      readAdditions(body, settings).map(({ id, add, key }) =>
        this.#try(objectIn(bucket, id, settings.idBytesMax), add, key, caller),
      ),
    )
    let position = 0
    for (const result of results) if ('position' in result) position = Math.max(position, result.position)
    const texts = results.map(result => ('position' in result ? spellResult(result) : JSON.stringify(result)))
    const text = `{"position":${position},"results":[${texts.join(',')}]}`
    return jsonTextAnswer(text, position === 0 ? [] : ['Freshet-Position', `${position}`])
  }

  #try(
    name: ObjectName,
    add: unknown,
    key: OperationId | undefined,
    caller: Caller | undefined,
  ): Promise<Counted | Refused> {
    const operation = key && askedBy(caller, key, more => fingerprintOf([name.key, ...more], add))
    return this.#add(name, add, operation, caller).catch(error => {
      if (!(error instanceof FreshetError)) throw error
      return { id: name.id, error: toProblem(error) }
    })
  }

  async #add(
    { id, bucket, key }: ObjectName,
    add: unknown,
    operation: AskedOperation | undefined,
    caller: Caller | undefined,
  ): Promise<Counted> {
    const claimant = claimantOf(caller, [key], each => ADDING.some(right => each.might(right, key)))
    const act = () => this.#commit({ bucket, key, add, operation, caller })
    const { position, units, note, isReplayed } = await this.#options.idempotency.once(operation, claimant, act)
    const [decimals = 0] = note.kind === 'counters' ? note.decimals : []
    return { id, value: formatUnits(units[0] ?? 0, decimals), position, isReplayed }
  }

  /** Reads no counter first: the commit adds to the stored value. Retried if the bucket has changed. */
  async #commit({ bucket: bucketKey, key, add, operation, caller }: AdditionTo): Promise<Outcome> {
    const { follower, buckets, committer } = this.#options
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const caughtUp = follower.catchUp()
      if (isPromise(caughtUp)) await caughtUp
      caller?.decideAnew()
      caller?.check('update', key)
      const bucket = buckets.get(bucketKey)
      const settings = bucket?.settings ?? SETTINGS_BY_DEFAULT
      checkNotDeleting([bucket])
      if (settings.requireMatch) throw matchRequired(key)
      if (settings.kind !== 'counter') throw noCounter(key)
      const addition = additionOf(key, add, settings)
      const note: AnswerNote = { kind: 'counters', decimals: [addition.decimals] }
      const conditions = operation === undefined ? {} : { operation: operationWith(operation, note) }
      const touched = new Map([[bucketKey, bucket]])
      const result = await committer.commit({ writes: [], adds: [addition] }, conditions, touched, caller)
      if (result.committed) return outcomeOf(result, note)
    }
    throw tooMuchContention()
  }
}

interface AdditionTo extends Pick<ObjectName, 'bucket' | 'key'> {
  readonly add: unknown
  readonly operation: AskedOperation | undefined
  readonly caller: Caller | undefined
}

const ADDING = ['update'] as const

/** Identifies one addition among several. A short one stands for itself: additions are many, and it contains no base64. */
function fingerprintOf(parts: readonly string[], add: unknown): string {
  const text = `${JSON.stringify(add)} ${parts.join(' ')}`
  return text.length <= FINGERPRINT_LENGTH_MAX ? text : hashOf(text)
}

interface Refused {
  readonly id: string
  readonly error: Problem
}

function spellResult(counted: Counted): string {
  return `{${spell(counted)}${counted.isReplayed ? ',"replayed":true' : ''}}`
}

function spell({ id, value, position }: Counted): string {
  return `"id":${JSON.stringify(id)},"value":${value},"version":${position},"position":${position}`
}

/** Throws BODY_INVALID, IDEMPOTENCY_KEY_INVALID, LIMIT_EXCEEDED. */
function readAdditions(body: Buffer, { commitWritesMax }: ServerSettings): readonly AskedAddition[] {
  const root = readMembers(body, 3)
  checkMembers(root, ['additions'])
  if (!Array.isArray(root.additions)) throw invalid('additions must be a list')
  if (root.additions.length > commitWritesMax) {
    const { length } = root.additions
    throw overLimit({
      code: 'LIMIT_EXCEEDED',
      limit: 'commitWritesMax',
      what: `The request has ${length} additions, more than the ${commitWritesMax} that this server accepts.`,
      instead: 'Send them in several requests',
      details: { additions: commitWritesMax },
    })
  }
  const keys = new Set<string>()
  return root.additions.map((item: unknown, i): AskedAddition => {
    if (typeof item !== 'object' || item === null) throw invalid(`additions[${i}] must be an object`)
    const { id, add, key } = item as Record<string, unknown>
    checkMembers(item, ['id', 'add', 'key'])
    if (typeof id !== 'string') throw invalid(`additions[${i}].id must be text`)
    if (key === undefined) return { id, add, key }
    if (typeof key !== 'string') throw invalid(`additions[${i}].key must be text`)
    if (keys.has(key)) throw invalid('two additions have the same key')
    keys.add(key)
    return { id, add, key: parseOperationId(key) }
  })
}

function checkMembers(value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find(name => !known.includes(name))
  if (unknown !== undefined)
    throw invalid(`it has ${JSON.stringify(unknown.slice(0, 40))}, but only ${known.join(', ')} are allowed`)
}

function invalid(reason: string): FreshetError {
  return new FreshetError(
    'BODY_INVALID',
    `This is not an addition to a counter: ${reason}. Send {"add":1} to a counter, or {"additions":[{"id":"a","add":1}]} to ` +
      'its bucket.',
  )
}
