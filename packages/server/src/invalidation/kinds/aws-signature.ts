/**
 * AWS Signature Version 4, as far as one POST without a query needs it
 * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html). Forty lines instead of a
 * dependency; checked against AWS's own example.
 */
import { createHash, createHmac } from 'node:crypto'

export interface AwsRequest {
  readonly method: string
  readonly path: string
  /** Canonical already: sorted and encoded. */
  readonly query?: string
  /** All of them are signed. `host` must be among them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface AwsScope {
  readonly accessKeyId: string
  readonly secret: string
  readonly region: string
  readonly service: string
}

/** `20150830T123600Z` */
export function amzDate(now: Date): string {
  return now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
}

/** The `Authorization` header of a request that has `x-amz-date` among its headers. */
export function signAws(request: AwsRequest, { accessKeyId, secret, region, service }: AwsScope): string {
  const headers = Object.entries(request.headers)
    .map(([name, value]) => [name.toLowerCase(), value.trim()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const names = headers.map(([name]) => name).join(';')
  const time = headers.find(([name]) => name === 'x-amz-date')![1]
  const day = time.slice(0, 8)
  const scope = `${day}/${region}/${service}/aws4_request`
  const lines = headers.map(([name, value]) => `${name}:${value}\n`).join('')
  const canonical = [request.method, request.path, request.query ?? '', lines, names, sha256(request.body)].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secret}`)
  const signature = hmac(key, toSign).toString('hex')
  return `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
