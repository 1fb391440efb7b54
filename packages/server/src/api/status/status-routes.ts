/** Routes for operators: is the server alive, is it ready, how is it doing, what does this error mean. */
import type { Store } from '@freshet/core/store'
import { FreshetError, type FreshetErrorCode, STATUS_OF_CODE, statusOf } from '@freshet/protocol'
import { type Answer, jsonAnswer, NO_SNIFF, NO_STORE } from '../../http/answer.js'
import { type Gauge, type MetricFamily, type Metrics, renderMetrics } from '../../monitoring/metrics.js'
import type { Call, Route } from '../../routing/call.js'
import type { Capability } from '../../routing/capability.js'
import { openApiDocument } from './openapi.js'
import type { Readiness } from './readiness.js'

export interface StatusRoutesOptions {
  readonly store: Store
  readonly metrics: Metrics
  readonly gauges: readonly Gauge[]
  readonly allMetrics: AllMetrics | undefined
  readonly readiness: Readiness
  readonly capabilities: readonly Capability[]
  readonly isStopping: () => boolean
  readonly version: string
}

/** Given the metrics of this process, returns those of all processes that serve the same data. */
export type AllMetrics = (own: readonly MetricFamily[]) => Promise<readonly MetricFamily[]>

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const DOCUMENTATION = 'docs/errors.md'

export class StatusRoutes {
  readonly #options: StatusRoutesOptions

  constructor(options: StatusRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    const { version, capabilities } = this.#options
    const added = capabilities.map(({ api }) => api)
    return [
      { pattern: '/live', methods: { GET: { access: 'anyone', handle: () => jsonAnswer(200, { live: true }) } } },
      { pattern: '/ready', methods: { GET: { access: 'anyone', handle: () => this.#ready() } } },
      { pattern: '/metrics', methods: { GET: { access: 'metrics', handle: () => this.#metrics() } } },
      {
        pattern: '/openapi.json',
        methods: { GET: { access: 'anyone', handle: () => jsonAnswer(200, openApiDocument(version, added)) } },
      },
      { pattern: '/errors/{code}', methods: { GET: { access: 'anyone', handle: call => describeCode(call) } } },
    ]
  }

  async #ready(): Promise<Answer> {
    const { store, readiness, isStopping } = this.#options
    if (isStopping()) throw new FreshetError('SERVER_STOPPING', 'The server is stopping. Send requests to another one.')
    await readiness.check()
    return jsonAnswer(200, { ready: true, position: await store.position() })
  }

  async #metrics(): Promise<Answer> {
    const { metrics, gauges, allMetrics } = this.#options
    const own = metrics.read(gauges)
    return {
      status: 200,
      headers: ['Content-Type', METRICS_TYPE, ...NO_STORE, ...NO_SNIFF],
      body: renderMetrics(allMetrics ? await allMetrics(own) : own),
    }
  }
}

/** The target of the `type` of a problem document. */
function describeCode({ names: [code = ''] }: Call): Answer {
  if (!Object.hasOwn(STATUS_OF_CODE, code)) throw new FreshetError('ROUTE_UNKNOWN', 'There is no such error code.')
  const status = statusOf(code as FreshetErrorCode)
  return jsonAnswer(200, { code, status, documentation: `${DOCUMENTATION}#${code.toLowerCase()}` })
}
