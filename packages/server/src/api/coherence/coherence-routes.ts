/** `/coherence`: what has changed, for clients and caches that hold copies. core/coherence describes the meaning. */
import { encodeSegmentBundle, formatNews, parseSegmentRefs } from '@freshet/core/coherence'
import type { Store } from '@freshet/core/store'
import {
  type CoherenceHead,
  type CoherenceNews,
  FreshetError,
  formatEtag,
  type Position,
  readPosition,
  type ServerTime,
} from '@freshet/protocol'
import type { Access } from '../../access/access.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import type { PositionWaits } from '../../coherence/position-waits.js'
import { type Answer, jsonAnswer, NO_SNIFF, NO_STORE } from '../../http/answer.js'
import { hasVersion } from '../../http/conditions.js'
import type { Cors } from '../../http/cors.js'
import { readNonce } from '../../http/read-nonce.js'
import type { Replies } from '../../http/replies.js'
import type { Parameters } from '../../http/request-target.js'
import type { Call, Route } from '../../routing/call.js'
import { BriefAnswers, briefCors } from './brief-answers.js'
import { type EventStreams, resumePosition } from './event-streams.js'

export interface CoherenceRoutesOptions {
  readonly access: Access
  readonly store: Store
  readonly follower: LogFollower
  readonly waits: PositionWaits
  readonly events: EventStreams
  readonly replies: Replies
  readonly cors: Cors
}

const BINARY: readonly string[] = ['Content-Type', 'application/octet-stream', ...NO_SNIFF]

export class CoherenceRoutes {
  readonly #options: CoherenceRoutesOptions
  readonly #briefly: BriefAnswers

  constructor(options: CoherenceRoutesOptions) {
    this.#options = options
    this.#briefly = new BriefAnswers(options.cors, options.replies)
  }

  routes(): readonly Route[] {
    return [
      {
        pattern: '/coherence',
        methods: {
          GET: { access: 'anyone', handle: call => this.#head(call), parameters: ['after', 'at', 'nonce'] },
        },
      },
      {
        pattern: '/coherence/segments/{segments}',
        methods: { GET: { access: 'anyone', handle: call => this.#segments(call) } },
      },
      { pattern: '/coherence/filter', methods: { GET: { access: 'anyone', handle: call => this.#filter(call) } } },
      {
        pattern: '/coherence/events',
        methods: { GET: { access: 'anyone', handle: call => this.#events(call), parameters: ['after', 'nonce'] } },
      },
      {
        pattern: '/time',
        methods: { GET: { access: 'anyone', handle: call => this.#time(call), parameters: ['nonce'] } },
      },
    ]
  }

  /**
   * Never answered by a cache: `no-store`, and the nonce gives each request its own URL, for caches that ignore `no-store`. The
   * answer repeats the nonce, and the news prove it, for caches that ignore the query: so clients notice replayed answers.
   */
  async #head({ exchange, parameters }: Call): Promise<undefined> {
    const nonce = readNonce(parameters)
    const { access, follower, waits } = this.#options
    const after = positionOf(parameters, 'after')
    const at = positionOf(parameters, 'at')
    if (at !== undefined) await waits.reach(at)
    await follower.catchUp()
    const head: CoherenceHead = { log: follower.log, timeMs: follower.asOfMs, ...follower.sketch.head(after) }
    const news = formatNews(head, after, nonce.nonce ?? '')
    const whole: CoherenceHead = { ...head, ...nonce, open: access.openBuckets }
    this.#briefly.send(exchange, news === undefined ? whole : ({ news } satisfies CoherenceNews))
    return undefined
  }

  async #segments({ names: [text = ''] }: Call): Promise<Answer> {
    const refs = parseSegmentRefs(text)
    if (refs === undefined) throw segmentsInvalid()
    const { follower } = this.#options
    await follower.catchUp()
    const { sketch } = follower
    const filters = refs.map(ref => sketch.segment(ref)).filter(filter => filter !== undefined)
    if (filters.length < refs.length) throw segmentGone(text)
    const maxAgeS = Math.ceil(sketch.head(follower.position).windowMs / 1000)
    return {
      status: 200,
      headers: [...BINARY, 'Cache-Control', `public, max-age=${maxAgeS}, immutable`],
      body: encodeSegmentBundle(filters),
      isCacheable: true,
    }
  }

  async #filter({ exchange }: Call): Promise<Answer> {
    const { follower } = this.#options
    await follower.catchUp()
    const { position } = follower
    // Not even with revalidation: caches may answer that from their own copies, and an old filter hides changes.
    const headers = [...NO_STORE, 'ETag', formatEtag(position), 'Freshet-Position', `${position}`]
    const ifNoneMatch = exchange.request.headers['if-none-match']
    if (ifNoneMatch !== undefined && hasVersion(ifNoneMatch, position)) return { status: 304, headers }
    return { status: 200, headers: [...BINARY, ...headers], body: follower.sketch.folded() }
  }

  async #events({ exchange, parameters }: Call): Promise<Answer | undefined> {
    const clockMs = Math.floor(performance.now())
    const nonce = readNonce(parameters)
    const { follower, events, replies, cors } = this.#options
    const after = resumePosition(exchange.request, positionOf(parameters, 'after'))
    if (exchange.method === 'HEAD') return { status: 200, headers: ['Content-Type', 'text/event-stream', ...NO_STORE] }
    await follower.catchUp()
    const headers = [...briefCors(cors, exchange.request), 'X-Request-Id', exchange.requestId]
    events.open(exchange.response, { after, headers, ...nonce, ...(nonce.nonce === undefined ? {} : { clockMs }) })
    replies.record(exchange, 200)
    return undefined
  }

  #time({ parameters }: Call): Answer {
    const time: ServerTime = { timeMs: Math.floor(this.#options.store.nowMs()), ...readNonce(parameters) }
    return jsonAnswer(200, time)
  }
}

function positionOf(parameters: Parameters, name: string): Position | undefined {
  const text = parameters.get(name)
  return text === undefined ? undefined : readPosition(name, text)
}

function segmentsInvalid(): FreshetError {
  return new FreshetError('URL_INVALID', 'Name segments as /coherence does: {from}-{to}, several separated by commas.')
}

function segmentGone(text: string): FreshetError {
  return new FreshetError(
    'SEGMENT_GONE',
    `The sketch no longer has the segments ${text.slice(0, 80)}. Ask /coherence for those it has.`,
  )
}
