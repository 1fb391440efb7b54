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
const NONCE = { type: 'string', description: 'Of the request, if it had one: so a replayed answer is noticed.' }

const ROWS: Json = {
  ...eitherOf('SqlAnswer', 'SqlExplanation'),
  'application/x-ndjson': {
    schema: {
      ...ref('schemas', 'SqlStreamLine'),
      description: 'Of each line. The first says what follows; a last one with an error, that it is not all.',
    },
  },
}

const PATHS: Json = {
  '/sql': {
    get: operation({
      id: 'querySql',
      summary: 'A query over all shards, from one global state',
      parameters: ['q', 'p', 'at', 'explain', 'ifNoneMatch'],
      responses: {
        ...answers('Its rows, together or line by line; or how they are found.', ROWS),
        304: { description: 'The versions are those in If-None-Match.' },
      },
    }),
    post: operation({
      id: 'postSql',
      summary: 'The same, for queries that are too long for a URL',
      body: json('SqlStatement'),
      responses: answers('Its rows, together or line by line; or how they are found.', ROWS),
    }),
  },
  '/sql/versions': {
    get: operation({
      id: 'getSqlVersions',
      summary: 'Of each table the last global write',
      parameters: ['nonce'],
      responses: answers('As of now.', json('SqlHead')),
    }),
  },
  '/global': {
    get: operation({
      id: 'getGlobal',
      summary: 'How far each shard has got',
      responses: answers('As of now.', json('GlobalStatus')),
    }),
    post: operation({
      id: 'writeGlobal',
      summary: 'A write to every shard: in one order, once each',
      parameters: ['idempotencyKey'],
      body: json('SqlStatement'),
      responses: {
        ...answers('Applied by all.', json('GlobalAnswer')),
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
  q: queryParameter('q', { type: 'string' }, 'A SELECT; parameters are $1, $2 and so on.'),
  p: queryParameter(
    'p',
    { type: 'string', contentMediaType: 'application/json', contentSchema: { type: 'array' } },
    'The values of its parameters, as a list.',
  ),
}

export const SQL_API: Capability['api'] = { paths: PATHS, schemas: SCHEMAS, parameters: PARAMETERS }
