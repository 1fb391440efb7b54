/** Words that readers search for, each with what the pages say instead. Every phrase stands for itself. */
import { stemOf } from './words.js'

export interface Synonym {
  readonly phrase: string
  /** Relative to the score of the word itself. */
  readonly score: number
}

/** The pages have another name for these. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  auth: ['access', 'token'],
  disconnected: ['lost connection', 'outbox'],
  docker: ['container image'],
  idempotent: ['exactly once'],
  invalidate: ['purge'],
  login: ['access', 'token'],
  monitoring: ['metrics', 'prometheus'],
  offline: ['outbox', 'lost connection', 'disconnected'],
  partition: ['shard'],
  permission: ['access', 'rule'],
  realtime: ['push', 'event'],
  reconnect: ['lost connection', 'outbox'],
  replication: ['replica', 'ring'],
  subscribe: ['push', 'event'],
  ttl: ['lifetime'],
}

/** The pages use these, and others that mean almost the same. A rare one scores high by itself, so its share is small. */
const RELATED: Readonly<Record<string, readonly string[]>> = {
  cdn: ['cache'],
  delay: ['latency', 'lag'],
  delete: ['drop', 'remove'],
  expire: ['lifetime'],
  fresh: ['current'],
  install: ['npm ci', 'npx'],
  latency: ['delay', 'milliseconds'],
  live: ['push', 'event'],
  migration: ['schema', 'upgrade'],
  old: ['stale'],
  outdated: ['stale', 'old'],
  purge: ['invalidate'],
  retry: ['repeat', 'exactly once'],
  stale: ['old', 'outdated'],
  standby: ['replica'],
}

const NAME_SCORE = 0.9
const RELATED_SCORE = 0.06

const BY_STEM: ReadonlyMap<string, readonly Synonym[]> = new Map([
  ...entriesOf(NAMES, NAME_SCORE),
  ...entriesOf(RELATED, RELATED_SCORE),
])

export function synonymsOf(word: string): readonly Synonym[] {
  return BY_STEM.get(stemOf(word)) ?? []
}

function entriesOf(phrases: typeof NAMES, score: number): readonly [string, readonly Synonym[]][] {
  return Object.entries(phrases).map(([word, all]) => [stemOf(word), all.map(phrase => ({ phrase, score }))])
}
