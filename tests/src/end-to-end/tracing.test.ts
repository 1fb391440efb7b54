/** Traces as a collector gets them: by OTLP over HTTP, configured only by the standard variables. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: { readonly intValue?: number } }[]
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { key: string; value: { stringValue?: string } }[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

let folder: string
let collector: Server
let endpoint: string
const sent: Sent[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-tracing-'))
  sent.length = 0
  collector = createServer(async (request, response) => {
    if (request.url === '/v1/traces') sent.push(JSON.parse(await text(request)) as Sent)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => collector.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
})
afterEach(async () => {
  await endFreshetProcesses()
  collector.close()
  rmSync(folder, { recursive: true, force: true })
})

function spans(): readonly Span[] {
  return sent.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(each => each.spans)),
  )
}

test.each([1, 2])(
  'each request is a span of its caller’s trace, and the log has its id (%i workers)',
  async workers => {
    const args = ['serve', '--data', join(folder, 'data'), '--workers', `${workers}`, '--log-level', 'request']
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop' }
    const server = await startFreshet(args, { environment })
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, 'content-type': 'application/json' }
    const url = `${server.url}/db/shop/products/tea`
    await fetch(url, { method: 'PUT', body: '{"n":1}', headers })
    await fetch(url, { headers })
    await fetch(`${server.url}/nothing-here`)
    await server.stop()

    // Each worker sends its own, whenever it does.
    const ours = spans()
      .filter(({ traceId }) => traceId === TRACE)
      .sort((a, b) => (a.name < b.name ? 1 : -1))
    expect(ours.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ['PUT /db/{namespace}/{bucket}/{id}', SPAN],
      ['GET /db/{namespace}/{bucket}/{id}', SPAN],
    ])
    const status = ours[0]!.attributes.find(({ key }) => key === 'http.response.status_code')
    expect(Number(status?.value.intValue)).toBe(201)
    const other = spans().find(({ name }) => name === 'GET /{unknown}')
    expect(other?.parentSpanId ?? '').toBe('')
    const names = sent[0]!.resourceSpans[0]!.resource.attributes.filter(({ key }) => key === 'service.name')
    expect(names.map(({ value }) => value.stringValue)).toEqual(['shop'])
    const logged = server.output().match(/"traceId":"[0-9a-f]{32}"/g) ?? []
    expect(logged.sort()).toEqual([TRACE, TRACE, other!.traceId].map(id => `"traceId":"${id}"`).sort())
  },
)

test('without a collector nothing is sent or loaded, but the log has the trace id of requests that carry one', async () => {
  const args = ['serve', '--data', join(folder, 'data'), '--workers', '1', '--log-level', 'request']
  const server = await startFreshet(args, { environment: { NODE_DEBUG: 'esm' } })
  await fetch(`${server.url}/ready`, { headers: { traceparent: `00-${TRACE}-${SPAN}-01` } })
  await fetch(`${server.url}/live`, { headers: { traceparent: `00-${'0'.repeat(32)}-${SPAN}-01` } })
  await server.stop()
  expect(server.output().match(/"traceId":"\w+"/g)).toEqual([`"traceId":"${TRACE}"`])
  expect((await server.ended).errors).not.toContain('opentelemetry')
  expect(sent).toEqual([])
})

test('an invalid configuration is refused before the server listens', async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  const args = ['serve', '--data', join(folder, 'data'), '--workers', '1', '--port', '0']
  const refused = await runFreshet(args, { environment })
  expect(refused.errors).toContain('not gRPC')
  expect(refused.exitCode).not.toBe(0)
})
