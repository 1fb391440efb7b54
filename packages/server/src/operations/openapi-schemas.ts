/** The messages of @freshet/protocol as JSON schemas. */
type Json = Readonly<Record<string, unknown>>

const POSITION = { $ref: '#/components/schemas/Position' }
const VERSION = { $ref: '#/components/schemas/Version' }
const TEXT = { type: 'string' }
const COUNT_OF_MS = { type: 'integer', minimum: 0 }
const PATH = { type: 'string', examples: ['/db/shop/products/42'] }

function object(properties: Json, required: readonly string[] = Object.keys(properties)): Json {
  return { type: 'object', properties, required }
}

function list(items: Json): Json {
  return { type: 'array', items }
}

const SEGMENT_REF = object({ from: POSITION, to: POSITION })
const CHANGE_HASH = {
  type: 'array',
  prefixItems: [POSITION, { type: 'string', pattern: '^[0-9a-f]{16}$' }],
  minItems: 2,
  maxItems: 2,
}

const SETTINGS = {
  kind: { enum: ['object', 'kv'] },
  lifetimeMs: { ...COUNT_OF_MS, description: 'How long caches may keep its objects.' },
  requireMatch: { type: 'boolean', description: 'Writes must say which version they replace.' },
}

export const SCHEMAS: Json = {
  Position: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'A place in the change log.',
  },
  Version: {
    type: 'integer',
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'The position of the commit that wrote it; 0: not there.',
  },
  Problem: object({ type: TEXT, title: TEXT, status: { type: 'integer' }, detail: TEXT, code: TEXT, requestId: TEXT }),
  NamespaceList: object({ namespaces: list(TEXT) }),
  BucketList: object({ buckets: list(object({ bucket: TEXT, ...SETTINGS }, ['bucket', 'kind'])) }),
  BucketSettings: { ...object(SETTINGS, ['kind']), additionalProperties: false },
  ListPage: object(
    {
      items: list(object({ id: TEXT, version: VERSION, value: { description: 'With `embed`.' } }, ['id', 'version'])),
      next: { type: 'string', description: 'Pass it as `after`; absent on the last page.' },
    },
    ['items'],
  ),
  WriteAnswer: object({ id: TEXT, version: VERSION, position: POSITION }),
  CommitRequest: object(
    {
      reads: list(object({ path: PATH, version: VERSION })),
      writes: list({
        oneOf: [
          object({ path: PATH, value: {} }),
          object({ path: PATH, contentType: TEXT, base64: TEXT }),
          object({ path: PATH, delete: { const: true } }),
        ],
      }),
    },
    ['writes'],
  ),
  CommitAnswer: object({ position: POSITION }),
  CoherenceHead: object({
    log: TEXT,
    position: POSITION,
    from: POSITION,
    windowMs: COUNT_OF_MS,
    timeMs: COUNT_OF_MS,
    seed: { type: 'string', pattern: '^[0-9a-f]{16}$' },
    segments: list(SEGMENT_REF),
    tail: object({ from: POSITION, to: POSITION, changes: list(CHANGE_HASH), filter: TEXT }, ['from', 'to']),
  }),
  ServerTime: object({ timeMs: COUNT_OF_MS }),
}
