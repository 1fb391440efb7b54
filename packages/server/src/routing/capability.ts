/**
 * A capability is joined to a server when it is created: it adds routes, and work that runs while the server does. The server
 * knows no capability by name; the program that creates the server chooses, such as the `freshet` command.
 */
import type { AuditTrail } from '../access/audit-trail.js'
import type { Replies } from '../http/replies.js'
import type { Log } from '../monitoring/log.js'
import type { Gauge } from '../monitoring/metrics.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { Route } from './call.js'

export interface Capability {
  /** Added to `has` of `GET /server`: `{ shards: true }`. */
  readonly has: Readonly<Record<string, boolean>>
  readonly api: ApiDescription
  routes(): readonly Route[]
  gauges(): readonly Gauge[]
  /** Called once, when the server has read its change log. Must not throw. */
  start(): void
  /** Called once, when every request has been answered. The audit still accepts entries until this resolves. */
  stop(): Promise<void>
}

/** The parts of `/openapi.json` about the capability's routes, by name. */
export interface ApiDescription {
  readonly paths: Readonly<Record<string, unknown>>
  readonly schemas: Readonly<Record<string, unknown>>
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The parts of the server that its capabilities can use. */
export interface CapabilityHost {
  readonly settings: ServerSettings
  readonly log: Log
  readonly replies: Replies
  readonly trail: AuditTrail
}

export type JoinCapability = (host: CapabilityHost) => Capability
