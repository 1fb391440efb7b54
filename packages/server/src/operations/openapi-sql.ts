/** Queries over shards and writes to all of them, in the OpenAPI document. */
import { answers, eitherOf, type Json, json, operation, ref } from './openapi-parts.js'

const ROWS: Json = {
  ...eitherOf('SqlAnswer', 'SqlExplanation'),
  'application/x-ndjson': {
    schema: {
      ...ref('schemas', 'SqlStreamLine'),
      description: 'Of each line. The first says what follows; a last one with an error, that it is not all.',
    },
  },
}

export const SQL_PATHS: Json = {
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
