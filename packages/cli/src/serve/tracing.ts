/**
 * Traces by OpenTelemetry: a span for each request, a child of the one that a `traceparent` header names (W3C Trace Context),
 * sent by OTLP over HTTP. The standard variables alone configure it (OTEL_EXPORTER_OTLP_ENDPOINT and so on); if they are not
 * set, no code of OpenTelemetry is loaded.
 *
 * The trace of a request is put into the request's headers, where the log finds it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FreshetError } from '@freshet/protocol'
import type { Context, Tracer } from '@opentelemetry/api'
import type { Sampler } from '@opentelemetry/sdk-trace'

export interface Tracing {
  /** Call this before a request is handled. */
  begin(request: IncomingMessage, response: ServerResponse): void
  /** Sends the remaining spans. */
  end(): Promise<void>
}

type Variables = Readonly<Record<string, string | undefined>>

function isTracingAsked(variables: Variables): boolean {
  if (variables.OTEL_SDK_DISABLED === 'true' || variables.OTEL_TRACES_EXPORTER === 'none') return false
  return Boolean(variables.OTEL_EXPORTER_OTLP_ENDPOINT || variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)
}

/** Undefined if the variables do not enable traces. Throws CONFIG_INVALID. */
export async function loadTracing(variables: Variables, version: string): Promise<Tracing | undefined> {
  if (!isTracingAsked(variables)) return undefined
  const protocol = variables.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL || variables.OTEL_EXPORTER_OTLP_PROTOCOL
  if (protocol === 'grpc') {
    throw new FreshetError(
      'CONFIG_INVALID',
      'OTEL_EXPORTER_OTLP_PROTOCOL: traces are sent over HTTP, not gRPC. Set http/json, and the port for that, usually 4318.',
    )
  }
  const [api, core, sdk, { OTLPTraceExporter }, { resourceFromAttributes, envDetector, detectResources }] =
    await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/core'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
  const own = resourceFromAttributes({ 'service.name': 'freshet', 'service.version': version })
  const provider = new sdk.TracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(sdk, variables),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  })
  const tracer = provider.getTracer('freshet', version)
  const parentOf = (header: string | string[] | undefined): Context => {
    const parent = typeof header === 'string' ? core.parseTraceParent(header) : null
    return parent ? api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true }) : api.ROOT_CONTEXT
  }
  return {
    begin: (request, response) => beginSpan(tracer, parentOf(request.headers.traceparent), request, response),
    end: () => provider.shutdown(),
  }
}

const KIND_SERVER = 1
const STATUS_ERROR = 2

function beginSpan(tracer: Tracer, parent: Context, request: IncomingMessage, response: ServerResponse): void {
  const { method = 'GET', url = '/', headers } = request
  const path = url.split('?', 1)[0]!
  const route = routeOf(path)
  const attributes = { 'http.request.method': method, 'http.route': route, 'url.path': path, 'url.scheme': 'http' }
  const span = tracer.startSpan(`${method} ${route}`, { kind: KIND_SERVER, attributes }, parent)
  const { traceId, spanId, traceFlags } = span.spanContext()
  headers.traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`
  // Also if the answer was cut off.
  response.once('close', () => {
    span.setAttribute('http.response.status_code', response.statusCode)
    if (response.statusCode >= 500) span.setStatus({ code: STATUS_ERROR })
    span.end()
  })
}

const BELOW_DB = ['/db', '/db/{namespace}', '/db/{namespace}/{bucket}', '/db/{namespace}/{bucket}/{id}']

/** A small number of routes, so that they can be names of spans. */
function routeOf(path: string): string {
  const [first = '', ...rest] = path.split('/').slice(1)
  if (first === 'db') return BELOW_DB[rest.length] ?? '/db/{unknown}'
  if (first === 'coherence')
    return rest.length === 0 ? '/coherence' : `/coherence/${rest[0] === 'segments' ? 'segments/{segments}' : 'events'}`
  return /^[a-z.]{0,20}$/.test(first) ? `/${first}` : '/{unknown}'
}

/** The samplers that the OpenTelemetry specification names. Default: everything, unless the caller did not sample its trace. */
function samplerOf(sdk: typeof import('@opentelemetry/sdk-trace'), variables: Variables): Sampler {
  const name = variables.OTEL_TRACES_SAMPLER || 'parentbased_always_on'
  const ratio = Number(variables.OTEL_TRACES_SAMPLER_ARG || 1)
  const [, isParentBased, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? []
  if (kind === undefined || !(ratio >= 0 && ratio <= 1)) {
    throw new FreshetError(
      'CONFIG_INVALID',
      'OTEL_TRACES_SAMPLER takes always_on, always_off, traceidratio, or one of these after parentbased_; OTEL_TRACES_SAMPLER_ARG takes a number from 0 to 1.',
    )
  }
  const root =
    kind === 'traceidratio'
      ? new sdk.TraceIdRatioBasedSampler(ratio)
      : kind === 'always_on'
        ? new sdk.AlwaysOnSampler()
        : new sdk.AlwaysOffSampler()
  return isParentBased ? new sdk.ParentBasedSampler({ root }) : root
}
