/** What every answer passes on its way out, and every request body on its way in. */
import type { Store } from '@freshet/core/store'
import { Readiness } from './api/status/readiness.js'
import { BodyIntake } from './http/body-intake.js'
import { ClientAddresses } from './http/client-addresses.js'
import { Cors } from './http/cors.js'
import { RefusalLog } from './http/refusal-log.js'
import { Replies } from './http/replies.js'
import { ResponseDeadlines } from './http/response-deadlines.js'
import { WholeAnswers } from './http/whole-answers.js'
import type { Log } from './monitoring/log.js'
import { counter, type Gauge, gauge, Metrics } from './monitoring/metrics.js'
import type { ServerSettings } from './settings/server-settings.js'

export interface HttpEdgeOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly trustedProxies?: readonly string[] | undefined
}

export class HttpEdge {
  readonly metrics: Metrics = new Metrics()
  readonly clients: ClientAddresses
  readonly cors: Cors
  readonly deadlines: ResponseDeadlines
  readonly whole: WholeAnswers
  readonly readiness: Readiness
  readonly replies: Replies
  readonly intake: BodyIntake

  constructor({ store, settings, log, trustedProxies }: HttpEdgeOptions) {
    this.clients = new ClientAddresses(trustedProxies)
    this.cors = new Cors(settings.corsOrigins)
    this.deadlines = new ResponseDeadlines(settings.responseMsMax)
    this.whole = new WholeAnswers(settings.keepAliveMs)
    this.readiness = new Readiness({ store, bodyBytesMax: settings.bodyBytesMax })
    this.intake = new BodyIntake(settings, this.clients)
    const { metrics, cors, deadlines, whole } = this
    const onFailure = (thrown: unknown) => this.readiness.note(thrown)
    this.replies = new Replies({
      ...{ metrics, cors, deadlines, whole, log, onFailure },
      refusals: new RefusalLog(log, this.clients),
    })
  }

  close(): void {
    this.deadlines.close()
    this.intake.close()
    this.metrics.close()
  }

  gauges(): readonly Gauge[] {
    const { deadlines, intake } = this
    return [
      counter('freshet_responses_cut', 'Responses that took too long to send.', () => deadlines.cut),
      gauge(
        'freshet_bodies_held_bytes',
        'Bodies of requests that have not been answered yet.',
        () => intake.held,
        'sum',
      ),
      counter('freshet_bodies_refused', 'Bodies that did not fit, or that arrived too slowly.', () => intake.refused),
    ]
  }
}
