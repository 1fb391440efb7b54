/** `GET /openapi.json`: the routes, for tools. A test compares it with the route table. */

import type { ApiDescription } from '../../routing/capability.js'
import { ANY_VALUE, answers, type Json, json, operation, queryParameter, ref } from './openapi-builders.js'
import { OPERATIONS_PATHS } from './openapi-operations.js'
import { SCHEMAS } from './openapi-schemas.js'

const NAME = { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }
const POSITION = { $ref: '#/components/schemas/Position' }

/** `added`: descriptions of the routes that capabilities add to the server. */
export function openApiDocument(version: string, added: readonly ApiDescription[] = []): Json {
  const partsOf = (kind: keyof ApiDescription) => Object.assign({}, ...added.map(api => api[kind])) as Json
  return {
    openapi: '3.1.0',
    info: {
      title: 'Freshet',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Objects that any web cache may keep, and what readers need to know so that they never use a stale copy.',
    },
    servers: [{ url: '/' }],
    paths: withRedirects({ ...DATA_PATHS, ...partsOf('paths'), ...COHERENCE_PATHS, ...OPERATIONS_PATHS }),
    components: {
      schemas: { ...SCHEMAS, ...partsOf('schemas') },
      parameters: { ...PARAMETERS, ...partsOf('parameters') },
      headers: HEADERS,
      responses: RESPONSES,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    },
    // If there are rules. What everybody may do needs no token.
    security: [{}, { token: [] }],
  }
}

/** A URL has one canonical spelling; reads under any other are redirected. */
function withRedirects(paths: Readonly<Record<string, unknown>>): Json {
  const redirected = Object.entries(paths as Record<string, Record<string, { readonly responses: Json }>>).map(
    ([path, { get, ...others }]) => {
      if (get === undefined) return [path, others]
      return [path, { get: { ...get, responses: { ...get.responses, 308: ref('responses', 'Redirect') } }, ...others }]
    },
  )
  return Object.fromEntries(redirected)
}

function pathParameter(name: string, schema: Json, description: string): Json {
  return { name, in: 'path', required: true, schema, description }
}

const PARAMETERS: Json = {
  namespace: pathParameter('namespace', NAME, 'A group of buckets.'),
  bucket: pathParameter('bucket', NAME, 'A group of objects with common settings.'),
  id: pathParameter(
    'id',
    { type: 'string', minLength: 1, maxLength: 512 },
    'Without slashes; encoded as by encodeURIComponent.',
  ),
  segments: pathParameter('segments', { type: 'string' }, 'As {from}-{to}, several separated by commas.'),
  code: pathParameter('code', { type: 'string' }, 'An error code.'),
  task: pathParameter('task', { type: 'string' }, 'The id of a task.'),
  file: pathParameter('file', { type: 'string' }, 'A file of the demo page.'),
  after: queryParameter(
    'after',
    { type: 'string' },
    'In lists: start after this id, or `next` of the page before. In queries: `next` of the page before.',
  ),
  since: queryParameter(
    'since',
    { type: 'integer', minimum: 0 },
    'Only entries from then on: milliseconds since 1970.',
  ),
  of: queryParameter(
    'of',
    { type: 'string' },
    'Only commits that changed this object (shop/products/42), or something in this bucket.',
  ),
  consoleFile: pathParameter('file', { type: 'string' }, 'A file of the console.'),
  afterPosition: queryParameter('after', POSITION, 'The client knows everything up to this position.'),
  at: queryParameter('at', POSITION, 'Answer only from a state that includes this position.'),
  embed: queryParameter('embed', { type: 'string' }, 'With the values.', true),
  from: queryParameter('from', { type: 'string' }, 'Start with this id.'),
  to: queryParameter('to', { type: 'string' }, 'End before this id.'),
  prefix: queryParameter('prefix', { type: 'string' }, 'Only ids that begin with this.'),
  limit: queryParameter('limit', { type: 'integer', minimum: 1, default: 100 }, 'At most this many.'),
  explain: queryParameter('explain', { type: 'string' }, 'How the query is answered, instead of its result.', true),
  fields: queryParameter('fields', { type: 'string' }, 'Only these fields of each object: name,author.name'),
  sort: queryParameter('sort', { type: 'string' }, 'By these fields; with a minus before it, descending: price,-name'),
  where: queryParameter(
    'where',
    { type: 'string', contentMediaType: 'application/json', contentSchema: ref('schemas', 'Filter') },
    'A query: only objects that match this filter.',
  ),
  ids: {
    ...queryParameter('ids', { type: 'array', items: { type: 'string' } }, 'Exactly these, in this order.'),
    style: 'form',
    explode: false,
  },
  sum: queryParameter('sum', { type: 'string' }, "The sum of a counter bucket's counters.", true),
  top: queryParameter(
    'top',
    { type: 'integer', minimum: 1, maximum: 1000 },
    "This many of a counter bucket's largest counters.",
  ),
  settings: queryParameter('settings', { type: 'string' }, 'The settings of the bucket instead of a list.', true),
  schemas: queryParameter(
    'schemas',
    { type: 'string' },
    'Every schema that the bucket has had, instead of a list.',
    true,
  ),
  nonce: queryParameter(
    'nonce',
    { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
    'Makes the URL unique, so that no cache has it. The answer repeats it.',
  ),
  ifMatch: {
    name: 'If-Match',
    in: 'header',
    schema: { type: 'string' },
    description: 'Only if the version is one of these ETags; * for any version.',
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    schema: { type: 'string' },
    description: 'Only if the version is not one of these ETags; *: only if the object does not exist.',
  },
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description:
      'Your own id for the operation: if you send it again with the same id, it takes effect once and gets the same answer.',
  },
  lastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    schema: POSITION,
    description: 'Where the reader left the stream.',
  },
}

const HEADERS: Json = {
  ETag: { description: 'The version, in quotes.', schema: { type: 'string' } },
  'Freshet-Position': {
    description: 'The state that was read, or that the write made, includes this position.',
    schema: POSITION,
  },
  Location: { description: 'The path of what was created.', schema: { type: 'string' } },
}

const VERSIONED = { ETag: ref('headers', 'ETag'), 'Freshet-Position': ref('headers', 'Freshet-Position') }

const RESPONSES: Json = {
  Problem: {
    description: 'Refused; `code` says why. Never cached.',
    content: { 'application/problem+json': { schema: ref('schemas', 'Problem') } },
  },
  Redirect: {
    description: 'Use the canonical spelling of this URL.',
    headers: { Location: { description: 'The canonical spelling.', schema: { type: 'string' }, required: true } },
  },
  Unchanged: { description: 'The version is the one in If-None-Match.', headers: VERSIONED },
  Written: { description: 'Committed.', headers: VERSIONED, content: json('WriteAnswer') },
  Created: {
    description: 'Committed; it did not exist before.',
    headers: { ...VERSIONED, Location: ref('headers', 'Location') },
    content: json('WriteAnswer'),
  },
}

function additions(): Json {
  const headers = { 'Freshet-Position': ref('headers', 'Freshet-Position') }
  return { description: 'The result of each addition.', headers, content: json('AdditionsAnswer') }
}

const WRITTEN: Json = { 200: ref('responses', 'Written'), 201: ref('responses', 'Created') }
const BUCKET_WRITTEN: Json = {
  ...WRITTEN,
  202: { description: 'Committed; a task does the rest.', headers: VERSIONED, content: json('BucketAnswer') },
}
const OBJECT_NAMES = ['namespace', 'bucket', 'id']
const BUCKET_NAMES = ['namespace', 'bucket']
const CONDITIONS = ['ifMatch', 'ifNoneMatch']
const WRITE = [...CONDITIONS, 'idempotencyKey']
const LIST_NAMES = [
  'after',
  'at',
  'embed',
  'from',
  'ids',
  'limit',
  'prefix',
  'to',
  'schemas',
  'settings',
  'sum',
  'top',
  'ifNoneMatch',
]
const QUERY_NAMES = ['explain', 'fields', 'sort', 'where']

const BUCKET_ANSWERS = [
  ...['ListPage', 'QueryAnswer', 'QueryExplanation', 'BucketSettingsAnswer', 'SchemaList'],
  ...['CounterSum', 'CounterTop'],
]

const DATA_PATHS: Json = {
  '/db': {
    get: operation({
      id: 'listNamespaces',
      summary: 'All namespaces',
      responses: answers('Their names.', json('NamespaceList')),
    }),
  },
  '/db/{namespace}': {
    get: operation({
      id: 'listBuckets',
      summary: 'The buckets of a namespace',
      parameters: ['namespace'],
      responses: answers('Their names and settings.', json('BucketList')),
    }),
    delete: operation({
      id: 'deleteNamespace',
      summary: 'Delete all buckets of a namespace, for admins',
      parameters: ['namespace'],
      responses: {
        202: { description: 'Started; a task for each bucket does the rest.', content: json('NamespaceAnswer') },
      },
    }),
  },
  '/db/{namespace}/{bucket}': {
    get: operation({
      id: 'listObjects',
      summary: 'A page of a bucket, several of its objects, the result of a query, its settings, or its schemas',
      parameters: [...BUCKET_NAMES, ...LIST_NAMES, ...QUERY_NAMES],
      responses: {
        ...answers(
          'A page, the result of a query, its explanation, settings, or schemas.',
          // An empty page fits each kind.
          { 'application/json': { schema: { anyOf: BUCKET_ANSWERS.map(name => ref('schemas', name)) } } },
          VERSIONED,
        ),
        304: ref('responses', 'Unchanged'),
      },
    }),
    put: operation({
      id: 'putBucket',
      summary: 'Create a bucket, or change its settings',
      parameters: [...BUCKET_NAMES, ...CONDITIONS],
      body: json('BucketChange'),
      responses: BUCKET_WRITTEN,
    }),
    patch: operation({
      id: 'patchBucket',
      summary: 'Change some settings of a bucket, and remove those that are null; or create it',
      parameters: [...BUCKET_NAMES, ...CONDITIONS],
      body: { 'application/json': { schema: { type: 'object' } } },
      responses: BUCKET_WRITTEN,
    }),
    delete: operation({
      id: 'deleteBucket',
      summary: 'Delete a bucket with everything in it, for admins',
      parameters: [...BUCKET_NAMES, ...CONDITIONS],
      responses: {
        202: { description: 'Started; a task does the rest.', headers: VERSIONED, content: json('BucketAnswer') },
      },
    }),
    post: operation({
      id: 'createObject',
      summary: 'Create an object under an id that the server makes; or add to many counters of a bucket',
      parameters: [...BUCKET_NAMES, 'idempotencyKey'],
      body: ANY_VALUE,
      responses: { 200: additions(), 201: ref('responses', 'Created') },
    }),
  },
  '/db/{namespace}/{bucket}/{id}': {
    get: operation({
      id: 'getObject',
      summary: 'Read an object',
      parameters: [...OBJECT_NAMES, 'at', ...CONDITIONS],
      responses: { ...answers('As stored.', ANY_VALUE, VERSIONED), 304: ref('responses', 'Unchanged') },
    }),
    put: operation({
      id: 'putObject',
      summary: 'Create or replace an object',
      parameters: [...OBJECT_NAMES, ...WRITE],
      body: ANY_VALUE,
      responses: WRITTEN,
    }),
    patch: operation({
      id: 'patchObject',
      summary: 'Change an object with a JSON merge patch (RFC 7396)',
      parameters: [...OBJECT_NAMES, ...WRITE],
      body: { 'application/merge-patch+json': { schema: { type: 'object' } } },
      responses: { 200: ref('responses', 'Written') },
    }),
    post: operation({
      id: 'addToCounter',
      summary: 'Add to a counter',
      parameters: [...OBJECT_NAMES, 'idempotencyKey'],
      body: json('Addition'),
      responses: answers('Committed.', json('Counted'), VERSIONED),
    }),
    delete: operation({
      id: 'deleteObject',
      summary: 'Delete an object',
      parameters: [...OBJECT_NAMES, ...WRITE],
      responses: { 200: ref('responses', 'Written') },
    }),
  },
  '/commit': {
    post: operation({
      id: 'commit',
      summary: 'Several writes, and the versions that they depend on: all or nothing',
      parameters: ['idempotencyKey'],
      body: json('CommitRequest'),
      responses: answers('Committed.', json('CommitAnswer'), VERSIONED),
    }),
  },
  '/tasks': {
    get: operation({
      id: 'listTasks',
      summary: 'Background tasks that run, and those that ended recently',
      responses: answers('Oldest first.', json('TaskList')),
    }),
  },
  '/tasks/{task}': {
    get: operation({
      id: 'getTask',
      summary: 'The progress of a task',
      parameters: ['task'],
      responses: answers('The task.', json('Task')),
    }),
    post: operation({
      id: 'tellTask',
      summary: 'Resume or cancel a task, or report the progress of a migration by a client',
      parameters: ['task'],
      body: json('TaskAction'),
      responses: answers('The task.', json('Task')),
    }),
  },
}

const BINARY: Json = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } }

const COHERENCE_PATHS: Json = {
  '/coherence': {
    get: operation({
      id: 'getHead',
      summary: 'What has changed during the window',
      parameters: ['afterPosition', 'at', 'nonce'],
      responses: answers('The head of the sketch; with `after`, the news if all of them can be listed.', {
        'application/json': {
          schema: { oneOf: ['CoherenceHead', 'CoherenceNews'].map(name => ref('schemas', name)) },
        },
      }),
    }),
  },
  '/coherence/segments/{segments}': {
    get: operation({
      id: 'getSegments',
      summary: 'Closed segments, each a Bloom filter',
      parameters: ['segments'],
      responses: answers('For each segment: its length in 4 bytes, little-endian, and the filter.', BINARY),
    }),
  },
  '/coherence/filter': {
    get: operation({
      id: 'getFilter',
      summary: 'The whole window as one Bloom filter',
      parameters: ['ifNoneMatch'],
      responses: { ...answers('The filter.', BINARY, VERSIONED), 304: ref('responses', 'Unchanged') },
    }),
  },
  '/coherence/events': {
    get: operation({
      id: 'followEvents',
      summary: 'Changes as they happen, as server-sent events',
      parameters: ['afterPosition', 'lastEventId', 'nonce'],
      responses: answers('An event `start` (JSON), then events, each with all that changed since the one before.', {
        'text/event-stream': { schema: { type: 'string' } },
      }),
    }),
  },
  '/time': {
    get: operation({
      id: 'getTime',
      summary: 'The clock of the log',
      parameters: ['nonce'],
      responses: answers('Milliseconds.', json('ServerTime')),
    }),
  },
}
