/** Which content types can be stored, and how stored bytes are sent to browsers so that they cannot run there. */
import { FreshetError, pathOfKey } from '@freshet/protocol'
import { JSON_TYPE } from './answer.js'

export const MERGE_PATCH_TYPE = 'application/merge-patch+json'
const BYTES_TYPE = 'application/octet-stream'

const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}(?:\s*;[\x20-\x7e]{1,200})?$/i

/** The type without its parameters, in lower case. */
export function essenceOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase()
}

export function isJson(contentType: string): boolean {
  const essence = essenceOf(contentType)
  return essence === JSON_TYPE || (essence.endsWith('+json') && essence !== MERGE_PATCH_TYPE)
}

/** The content type to keep with the value of a kv bucket. Throws HEADER_INVALID. */
export function readContentType(contentType: string | undefined): string {
  if (contentType === undefined) return BYTES_TYPE
  if (MEDIA_TYPE.test(contentType)) return contentType
  throw new FreshetError('HEADER_INVALID', 'Content-Type must be a media type such as image/png.')
}

/** For clients that send something other than JSON to an object bucket. Often it is curl, whose default is a form. */
export function notJson(bucketKey: string, contentType: string, isNewBucket: boolean): FreshetError {
  const path = pathOfKey(bucketKey)
  const other = isNewBucket ? path : `${path}-files`
  return new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    `${path} holds JSON objects, and the body was sent as ${JSON.stringify(contentType.slice(0, 80))}. If it is JSON, send ` +
      'the header "Content-Type: application/json" (curl -H; curl -d alone sends the type of a form). To keep any bytes, ' +
      `use a kv bucket: PUT ${other} with {"kind":"kv"} as application/json, before the first write to it.`,
    { details: { accept: [JSON_TYPE], createKvBucket: { method: 'PUT', path: other, body: { kind: 'kv' } } } },
  )
}

const HARMLESS =
  /^(?:application\/(?:json|octet-stream|pdf|zip|gzip)|text\/(?:plain|csv)|font\/.*|audio\/.*|video\/.*|image\/(?!svg).*)$/
const RUNNABLE = /html|svg|xml|javascript|ecmascript|css|wasm|multipart|message\//

/**
 * Headers that keep stored bytes from running with the rights of this server's pages: content that browsers would show as a
 * document is put in a sandbox, and content that they could run is downloaded instead of shown.
 */
export function confinement(contentType: string): readonly string[] {
  const essence = essenceOf(contentType)
  if (HARMLESS.test(essence)) return []
  const sandbox = ['Content-Security-Policy', "default-src 'none'; sandbox"]
  return RUNNABLE.test(essence) ? [...sandbox, 'Content-Disposition', 'attachment'] : sandbox
}
