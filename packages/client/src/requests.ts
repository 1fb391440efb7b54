/** The entry point for packages that extend the client: the connection, and what its requests are made with. */

export type { Database, DatabaseParts } from './database.js'
export { isLost, isPassing, retry } from './http/back-off.js'
export { Deadline, ofReading, untilAborted } from './http/deadline.js'
export { checkEcho, createNonce } from './http/nonce.js'
export { type Fetch, JSON_HEADERS, type Request, Transport } from './http/transport.js'
export { isStorable } from './json/storable.js'
