/** The messages of @freshet/protocol as JSON schemas. */
import { type Json, list, object } from './openapi-builders.js'

const POSITION = { $ref: '#/components/schemas/Position' }
const VERSION = { $ref: '#/components/schemas/Version' }
const TEXT = { type: 'string' }
const COUNT = { type: 'integer', minimum: 0 }
const COUNT_OF_MS = { type: 'integer', minimum: 0 }
const NONCE = {
  type: 'string',
  description: 'The nonce of the request, if it had one, so that a replayed answer is noticed.',
}
const PATH = { type: 'string', examples: ['/db/shop/products/42'] }

const SEGMENT_REF = object({ from: POSITION, to: POSITION })
const PACKED = {
  type: 'string',
  pattern: '^[A-Za-z0-9_-]+$',
  description:
    'Positions and 20 bits of the hash of each path that changed. Drawn in @freshet/core, packed-changes.ts.',
}

const SETTINGS = {
  kind: { enum: ['object', 'kv', 'counter'] },
  lifetimeMs: { ...COUNT_OF_MS, description: 'How long caches may keep its objects. Not together with `learn`.' },
  learn: {
    ...object({ minMs: COUNT_OF_MS, maxMs: COUNT_OF_MS }),
    additionalProperties: false,
    description: 'The lifetime of each object is learnt from how often it is written, within these bounds.',
  },
  requireMatch: { type: 'boolean', description: 'Writes must name the version that they replace.' },
  requireIdempotencyKey: { type: 'boolean', description: 'Writes must have an Idempotency-Key.' },
  decimals: { type: 'integer', minimum: 0, maximum: 9, description: 'For counters: digits after the decimal point.' },
  min: { type: 'number', description: 'For counters: the lower bound.' },
  max: { type: 'number', description: 'For counters: the upper bound.' },
  schema: { type: 'object', description: 'The JSON Schema (2020-12) that its objects must satisfy.' },
  schemaVersion: { type: 'integer', minimum: 0, description: 'Grows with each change of the schema.' },
}

const COUNTED = { id: TEXT, value: { type: 'number' }, version: VERSION, position: POSITION }

const INDEX = { name: { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }, fields: list(TEXT) }
const TAGS = {
  ...list(TEXT),
  description: 'From `dependsOn` of a query: only changes that carry one of these tags count.',
}
const INDEX_STATE = {
  ...INDEX,
  isReady: { type: 'boolean', description: 'Whether queries use it.' },
  done: {
    type: 'integer',
    minimum: 0,
    description: 'How many of the earlier objects are in it. Only for callers who see all of them.',
  },
  total: { type: 'integer', minimum: 0 },
}
const POINTER = { type: 'string', examples: ['/price'] }
const MIGRATION = {
  oneOf: [
    object(
      {
        name: TEXT,
        steps: list({
          oneOf: [
            object({ rename: POINTER, to: POINTER }),
            object({ default: POINTER, value: {} }),
            object({ remove: POINTER }),
          ],
        }),
      },
      ['steps'],
    ),
    object({ name: TEXT, by: { const: 'client' } }),
  ],
}
const VIOLATION = object({ path: PATH, at: POINTER, expected: TEXT })
const TASK = object(
  {
    id: TEXT,
    kind: { enum: ['check', 'migration', 'deletion'] },
    bucket: TEXT,
    schemaVersion: COUNT,
    name: TEXT,
    by: { enum: ['server', 'client'] },
    state: { enum: ['running', 'done', 'failed', 'cancelled'] },
    phase: { enum: ['changing', 'checking', 'deleting'] },
    from: { ...POSITION, description: 'Objects of earlier versions have yet to be migrated.' },
    done: COUNT,
    total: COUNT,
    changed: COUNT,
    after: TEXT,
    error: object({ message: TEXT, violations: list(VIOLATION) }, ['message']),
  },
  ['id', 'kind', 'bucket', 'schemaVersion', 'by', 'state', 'phase', 'done', 'changed'],
)

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
    description: 'The position of the commit that wrote it; 0 if it does not exist.',
  },
  Problem: object({ type: TEXT, title: TEXT, status: { type: 'integer' }, detail: TEXT, code: TEXT, requestId: TEXT }),
  NamespaceList: object({ namespaces: list(TEXT) }),
  BucketList: object({
    buckets: list(object({ bucket: TEXT, ...SETTINGS, indexes: list(object(INDEX)) }, ['bucket', 'kind'])),
  }),
  BucketSettings: {
    ...object({ ...SETTINGS, indexes: list(object(INDEX)) }, ['kind']),
    additionalProperties: false,
  },
  BucketSettingsAnswer: object({ ...SETTINGS, indexes: list(object(INDEX_STATE)) }, ['kind']),
  Filter: {
    type: 'object',
    description: 'A value or conditions for each field. `$id` is the id. `$and` and `$or` take lists of filters.',
    examples: [
      { category: 'books', price: { $lt: 10 } },
      { $or: [{ 'author.name': { $prefix: 'Ann' } }, { tag: { $in: ['a', 'b'] } }] },
    ],
  },
  QueryAnswer: object(
    {
      items: list(object({ id: TEXT, version: VERSION, value: { type: 'object' } })),
      next: { type: 'string', description: 'Pass it as `after`; absent on the last page.' },
      version: {
        ...VERSION,
        description: 'Absent if the caller sees only some objects, and others could change it.',
      },
      dependsOn: {
        ...list(TEXT),
        description:
          'Only a change that carries one of these tags changes the result; absent: any change in the bucket.',
      },
    },
    ['items'],
  ),
  QueryExplanation: object(
    {
      plan: object(
        {
          index: TEXT,
          equal: list(TEXT),
          range: TEXT,
          isSorted: { type: 'boolean' },
          text: { type: 'string', description: 'The same in words.' },
        },
        ['equal', 'isSorted', 'text'],
      ),
      examined: { type: 'integer', minimum: 0 },
      found: { type: 'integer', minimum: 0 },
      version: VERSION,
      dependsOn: list(TEXT),
    },
    ['plan', 'examined', 'found', 'version'],
  ),
  BucketChange: {
    ...object({ ...SETTINGS, indexes: list(object(INDEX)), migration: MIGRATION }, ['kind']),
    additionalProperties: false,
  },
  BucketAnswer: object({ id: TEXT, version: VERSION, position: POSITION, task: TEXT }, ['id', 'version', 'position']),
  NamespaceAnswer: object({ position: POSITION, tasks: list(TEXT) }, ['position', 'tasks']),
  SchemaList: object({
    schemas: list(
      object(
        {
          version: COUNT,
          schema: { type: ['object', 'null'] },
          position: POSITION,
          migration: TEXT,
          task: TEXT,
        },
        ['version', 'schema', 'position'],
      ),
    ),
  }),
  Task: TASK,
  TaskList: object({ tasks: list(TASK) }),
  TaskAction: object(
    { do: { enum: ['resume', 'cancel', 'progress', 'finish'] }, after: TEXT, done: COUNT, changed: COUNT },
    ['do'],
  ),
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
      lists: list(
        object(
          { path: PATH, version: VERSION, from: TEXT, to: TEXT, after: TEXT, prefix: TEXT, through: TEXT, tags: TAGS },
          ['path', 'version'],
        ),
      ),
      writes: list({
        oneOf: [
          object({ path: PATH, value: {} }),
          object({ path: PATH, patch: { type: 'object' } }),
          object({ path: PATH, contentType: TEXT, base64: TEXT }),
          object({ path: PATH, delete: { const: true } }),
          object({ path: PATH, add: { type: 'number' } }),
        ],
      }),
      lease: {
        oneOf: [{ const: true }, { type: 'integer', minimum: 1 }],
        description:
          'If the commit is refused, reserve the next turn to write these objects, for this many milliseconds.',
      },
      leaseId: {
        type: 'string',
        minLength: 1,
        description: 'The lease that the commit uses: `lease.id` of a refusal.',
      },
    },
    ['writes'],
  ),
  CommitAnswer: object({ position: POSITION, values: list({ type: 'number' }) }, ['position']),
  Addition: object({ add: { type: 'number' } }),
  Additions: object({ additions: list(object({ id: TEXT, add: { type: 'number' }, key: TEXT }, ['id', 'add'])) }),
  CounterSum: object({ sum: { type: 'number' }, count: COUNT }),
  CounterTop: object({ items: list(object({ id: TEXT, value: { type: 'number' } })) }),
  Counted: object(COUNTED),
  AdditionsAnswer: object({
    position: POSITION,
    results: list({
      oneOf: [
        object({ ...COUNTED, replayed: { const: true } }, Object.keys(COUNTED)),
        object({ id: TEXT, error: { $ref: '#/components/schemas/Problem' } }),
      ],
    }),
  }),
  Idempotency: object({
    retentionMs: COUNT_OF_MS,
    clients: COUNT,
    foreign: COUNT,
    memoryBytes: COUNT,
    diskBytes: COUNT,
    mode: { enum: ['exact', 'compact'] },
    falsePositiveRate: { type: 'number' },
    replays: COUNT,
  }),
  CoherenceHead: object(
    {
      log: TEXT,
      position: POSITION,
      from: POSITION,
      windowMs: COUNT_OF_MS,
      timeMs: COUNT_OF_MS,
      seed: { type: 'string', pattern: '^[0-9a-f]{16}$' },
      segments: list(SEGMENT_REF),
      tail: object({ from: POSITION, to: POSITION, changes: PACKED, filter: TEXT }, ['from', 'to']),
      nonce: NONCE,
      open: {
        ...object({ read: list(TEXT), list: list(TEXT) }),
        description:
          'The buckets that the rules open to everybody, as patterns such as `*/news`; the buckets need not exist.',
      },
    },
    ['log', 'position', 'from', 'windowMs', 'timeMs', 'seed', 'segments', 'tail'],
  ),
  CoherenceNews: object({
    news: { ...PACKED, description: 'A head without what the reader knows already. Drawn in @freshet/core, news.ts.' },
  }),
  ServerTime: object({ timeMs: COUNT_OF_MS, nonce: NONCE }, ['timeMs']),
}
