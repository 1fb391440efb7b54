/** Queries over shards and writes to all of them, in the OpenAPI document. */
import {
  answers,
  type Capability,
  eitherOf,
  json,
  list,
  object,
  operation,
  queryParameter,
  ref,
} from '@freshet/server/capabilities'

type Json = Readonly<Record<string, unknown>>

const POSITION = ref('schemas', 'Position')
const TEXT = { type: 'string' }
const COUNT = { type: 'integer', minimum: 0 }
const NONCE = {
  type: 'string',
  description: 'The nonce of the request, if it had one: so a replayed answer is noticed.',
}

const ROWS: Json = {
  ...eitherOf('SqlAnswer', 'SqlExplanation'),
  'application/x-ndjson': {
    schema: {
      ...ref('schemas', 'SqlStreamLine'),
      description:
        'One line. The first describes the rows; a last line with an error means that the rows are incomplete.',
    },
  },
}

const PATHS: Json = {
  '/sql': {
    get: operation({
      id: 'querySql',
      summary: 'Query all shards, in one global state',
      parameters: ['q', 'p', 'at', 'explain', 'ifNoneMatch'],
      responses: {
        ...answers('The rows, in one answer or line by line; or how they are found.', ROWS),
        304: { description: 'The versions are the same as in If-None-Match.' },
      },
    }),
    post: operation({
      id: 'postSql',
      summary: 'Query all shards, for queries that are too long for a URL',
      body: json('SqlStatement'),
      responses: answers('The rows, in one answer or line by line; or how they are found.', ROWS),
    }),
  },
  '/sql/versions': {
    get: operation({
      id: 'getSqlVersions',
      summary: 'The last global write to each table',
      parameters: ['nonce'],
      responses: answers('The current versions.', json('SqlHead')),
    }),
  },
  '/global': {
    get: operation({
      id: 'getGlobal',
      summary: 'How far each shard has applied the log of global writes',
      responses: answers('The current state of the shards.', json('GlobalStatus')),
    }),
    post: operation({
      id: 'writeGlobal',
      summary: 'Write to every shard: in one order, once each',
      parameters: ['idempotencyKey'],
      body: json('SqlStatement'),
      responses: {
        ...answers('All shards have applied it.', json('GlobalAnswer')),
        202: { description: 'Accepted; some shards have yet to apply it.', content: json('GlobalAnswer') },
      },
    }),
  },
}

const SCHEMAS: Json = {
  SqlStatement: {
    ...object({ q: TEXT, p: list({}), at: POSITION, explain: { type: 'boolean' } }, ['q']),
    additionalProperties: false,
  },
  SqlAnswer: object(
    {
      columns: list(TEXT),
      types: list({ enum: ['integer', 'decimal', 'float', 'text', 'date', 'boolean', 'other'] }),
      rows: list(list({})),
      versions: { type: 'object', additionalProperties: POSITION },
      position: POSITION,
      isKept: { type: 'boolean' },
    },
    ['columns', 'types', 'rows', 'versions', 'position'],
  ),
  SqlStreamLine: {
    oneOf: [
      object(
        {
          columns: list(TEXT),
          types: list(TEXT),
          versions: { type: 'object', additionalProperties: POSITION },
          position: POSITION,
        },
        ['columns', 'types', 'versions', 'position'],
      ),
      list({}),
      object({ error: { $ref: '#/components/schemas/Problem' } }, ['error']),
    ],
  },
  SqlHead: object({ position: POSITION, versions: { type: 'object', additionalProperties: POSITION }, nonce: NONCE }, [
    'position',
    'versions',
  ]),
  SqlExplanation: object({
    way: { enum: ['whole', 'rows', 'groups'] },
    streams: { type: 'boolean' },
    tables: list(TEXT),
    asked: list(object({ shard: TEXT, statement: TEXT, values: list({}) })),
  }),
  GlobalAnswer: object(
    {
      position: POSITION,
      applied: list(TEXT),
      pending: list(TEXT),
      versions: { type: 'object', additionalProperties: POSITION },
      replayed: { type: 'boolean' },
    },
    ['position', 'applied', 'pending', 'versions'],
  ),
  GlobalStatus: object({
    position: POSITION,
    isLeading: { type: 'boolean' },
    shards: list(
      object(
        { name: TEXT, applied: POSITION, behind: COUNT, isWaiting: { type: 'boolean' }, obstacle: TEXT, error: TEXT },
        ['name'],
      ),
    ),
  }),
}

const PARAMETERS: Json = {
  q: queryParameter('q', { type: 'string' }, 'A SELECT, with parameters $1, $2 and so on.'),
  p: queryParameter(
    'p',
    { type: 'string', contentMediaType: 'application/json', contentSchema: { type: 'array' } },
    'The values of the parameters, as a list.',
  ),
}

export const SQL_API: Capability['api'] = { paths: PATHS, schemas: SCHEMAS, parameters: PARAMETERS }
