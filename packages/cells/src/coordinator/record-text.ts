/**
 * A cell's record as a node keeps it: a JSON object, so that every node can keep it and people can read it.
 *
 *     {"stamp":[7,3,0,0],"tenure":7,"holder":"http://10.0.0.1:7801#4f2a","beat":12,"type":"application/json","text":"{\"a\":1}"}
 *
 * `text` is the value's body if that is UTF-8, else `base64` is; a tombstone has neither. Empty members are left out.
 */
import { FreshetError } from '@freshet/protocol'
import { type CellRecord, type CellValue, EMPTY_RECORD, NO_COORDINATOR, type Stamp } from '../records/index.js'

interface RecordText extends ValueText {
  readonly stamp: StampText
  readonly tenure?: number
  readonly holder?: string
  readonly beat?: number
  readonly wish?: string
}

export interface ValueText {
  readonly type?: string
  readonly text?: string
  readonly base64?: string
}

export type StampText = readonly [tenure: number, count: number, aside: number, writer: number]

export function encodeRecord(record: CellRecord): Uint8Array {
  const { stamp, value, tenure, holder, beat, wish } = record
  const text: RecordText = {
    stamp: stampText(stamp),
    ...(tenure === 0 ? {} : { tenure, beat }),
    ...(holder === NO_COORDINATOR ? {} : { holder }),
    ...(wish === NO_COORDINATOR ? {} : { wish }),
    ...(value === undefined ? {} : valueText(value)),
  }
  return Buffer.from(JSON.stringify(text))
}

/** Throws STORE_DAMAGED if the body is not a record. */
export function decodeRecord(body: Uint8Array): CellRecord {
  const read = parseObject(body) as Partial<RecordText>
  const stamp = readStamp(read.stamp)
  if (stamp === undefined) throw notOurs(body)
  const { tenure = 0, holder = NO_COORDINATOR, beat = 0, wish = NO_COORDINATOR } = read
  return { ...EMPTY_RECORD, stamp, value: readValue(read), tenure, holder, beat, wish }
}

export function stampText({ tenure, count, aside, writer }: Stamp): StampText {
  return [tenure, count, aside, writer]
}

export function readStamp(text: StampText | undefined): Stamp | undefined {
  if (!Array.isArray(text) || text.length !== 4 || !text.every(Number.isSafeInteger)) return undefined
  const [tenure, count, aside, writer] = text as StampText
  return { tenure, count, aside, writer }
}

export function valueText({ contentType, body }: CellValue): ValueText {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const text = bytes.toString()
  // Bytes that are not UTF-8 do not survive the conversion to text and back.
  const isText = Buffer.from(text).equals(bytes)
  return { type: contentType, ...(isText ? { text } : { base64: bytes.toString('base64') }) }
}

export function readValue({ type, text, base64 }: ValueText): CellValue | undefined {
  if (type === undefined) return undefined
  return { contentType: type, body: base64 === undefined ? Buffer.from(text ?? '') : Buffer.from(base64, 'base64') }
}

export function parseObject(body: Uint8Array): object {
  try {
    const read: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
    if (typeof read === 'object' && read !== null) return read
  } catch (cause) {
    throw notOurs(body, cause)
  }
  throw notOurs(body)
}

function notOurs(body: Uint8Array, cause?: unknown): FreshetError {
  const shown = Buffer.from(body).toString().slice(0, 80)
  return new FreshetError(
    'STORE_DAMAGED',
    `A node holds something that is not a record of the ring: ${shown}. Find out what else writes to it; only the ring may.`,
    { cause },
  )
}
