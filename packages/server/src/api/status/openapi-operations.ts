/** The part of `/openapi.json` about the routes for operators. */
import { ANY_JSON, ANY_VALUE, answers, type Json, json, operation } from './openapi-builders.js'

export const OPERATIONS_PATHS: Json = {
  '/access': {
    get: operation({
      id: 'getRules',
      summary: 'The rules in force, for admins',
      responses: answers(
        'Their text, null if everybody may do everything, and their version; isUnconfirmed if they came with a backup or a ' +
          'copy of the store.',
        ANY_JSON,
      ),
    }),
    put: operation({
      id: 'applyRules',
      summary: 'Replace the rules, for all servers over the store; for admins',
      body: ANY_JSON,
      responses: answers('Their version, and what they allow that the rules before did not.', ANY_JSON),
    }),
  },
  '/access/try': {
    post: operation({
      id: 'tryAccess',
      summary: 'What a caller with these claims may do with an object, for admins',
      body: ANY_JSON,
      responses: answers('Each right, and whether the caller has it.', ANY_JSON),
    }),
  },
  '/server': {
    get: operation({
      id: 'getServer',
      summary: 'The version, contents and settings of this server, for admins',
      responses: answers('The current state.', ANY_JSON),
    }),
  },
  '/logs': {
    get: operation({
      id: 'getLogs',
      summary: 'The last lines of the log, for admins',
      parameters: ['since'],
      responses: answers('Oldest first.', ANY_JSON),
    }),
  },
  '/conflicts': {
    get: operation({
      id: 'getConflicts',
      summary: 'Recent writes and commits that were refused because something had changed, for admins',
      parameters: ['since'],
      responses: answers('Oldest first.', ANY_JSON),
    }),
  },
  '/changes': {
    get: operation({
      id: 'getChanges',
      summary: 'A page of the change log: which commits changed what, and when; for admins',
      parameters: ['afterPosition', 'limit', 'of'],
      responses: answers('Oldest first; `next` is where the next page starts.', ANY_JSON),
    }),
  },
  '/nodes': {
    get: operation({
      id: 'getNodes',
      summary: 'The nodes of a ring, or the replicas that are read from, and the state of each; for admins',
      responses: answers('As this process knows them, without asking them.', ANY_JSON),
    }),
  },
  '/caches': {
    get: operation({
      id: 'getCaches',
      summary: 'The caches that the server notifies of every change, without their secrets, for admins',
      responses: answers('Their state is in the metrics.', ANY_JSON),
    }),
  },
  '/doctor': {
    post: operation({
      id: 'examineCache',
      summary: 'Examine one of those caches, for admins',
      body: ANY_JSON,
      responses: answers('A line for each finding, then one with all of them.', {
        'application/x-ndjson': { schema: { type: 'string' } },
      }),
    }),
  },
  '/console': {
    get: operation({
      id: 'getConsole',
      summary: 'The console',
      responses: answers('The page.', { 'text/html': { schema: { type: 'string' } } }),
    }),
  },
  '/console/{file}': {
    get: operation({
      id: 'getConsoleFile',
      summary: 'A file of the console',
      parameters: ['consoleFile'],
      responses: answers('The file.', ANY_VALUE),
    }),
  },
  '/client.js': {
    get: operation({
      id: 'getClientModule',
      summary: 'The client as one ES module, for web pages of every origin that have no build step',
      parameters: ['ifNoneMatch'],
      responses: {
        ...answers('The module.', { 'text/javascript': { schema: { type: 'string' } } }),
        304: { description: 'The copy that If-None-Match names is the present module.' },
      },
    }),
  },
  '/quotas': {
    get: operation({
      id: 'getQuotas',
      summary: 'How much each namespace with a quota uses, and may use, for admins',
      responses: answers('By namespace.', ANY_JSON),
    }),
  },
  '/audit': {
    get: operation({
      id: 'getAudit',
      summary:
        'Who changed rules, settings and schemas, used /sql and /global, or restored a backup: when and from where, for admins',
      parameters: ['after', 'limit'],
      responses: answers('Oldest first.', ANY_JSON),
    }),
    post: operation({
      id: 'noteToken',
      summary: 'Record in the audit that a token was made, for admins',
      body: ANY_JSON,
      responses: answers('It is recorded.', ANY_JSON),
    }),
  },
  '/idempotency': {
    get: operation({
      id: 'getIdempotency',
      summary: 'How long operations are remembered, how many are, and what that costs',
      responses: answers('The current state.', json('Idempotency')),
    }),
  },
  '/': {
    get: operation({
      id: 'discover',
      summary: 'An index of the resources; a page, for browsers',
      responses: answers('Links.', { ...ANY_JSON, 'text/html': { schema: { type: 'string' } } }),
    }),
  },
  '/demo': {
    get: operation({
      id: 'getDemo',
      summary: 'The demo page',
      responses: answers('The page.', { 'text/html': { schema: { type: 'string' } } }),
    }),
  },
  '/demo/{file}': {
    get: operation({
      id: 'getDemoFile',
      summary: 'A file of the demo page',
      parameters: ['file'],
      responses: answers('The file.', ANY_VALUE),
    }),
  },
  '/live': {
    get: operation({ id: 'isLive', summary: 'Whether the process answers', responses: answers('It does.', ANY_JSON) }),
  },
  '/ready': {
    get: operation({
      id: 'isReady',
      summary: 'Whether requests should be sent here',
      responses: answers('They should.', ANY_JSON),
    }),
  },
  '/metrics': {
    get: operation({
      id: 'getMetrics',
      summary: 'Metrics, in the format of Prometheus',
      responses: answers('Text.', { 'text/plain': { schema: { type: 'string' } } }),
    }),
  },
  '/openapi.json': {
    get: operation({ id: 'getOpenApi', summary: 'This document', responses: answers('OpenAPI 3.1.', ANY_JSON) }),
  },
  '/errors/{code}': {
    get: operation({
      id: 'explainError',
      summary: 'What an error code means',
      parameters: ['code'],
      responses: answers('The link to its explanation.', ANY_JSON),
    }),
  },
}
