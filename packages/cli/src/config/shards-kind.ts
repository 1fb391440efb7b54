/**
 * The shards that queries run over: an object, best written in the config file. Its addresses are not shown: they hold passwords.
 */
import { readShards, type ShardsConfig } from '@freshet/shards/configuration'
import type { ValueKind } from './value-kinds.js'

export const SHARDS: ValueKind<ShardsConfig | null> = {
  placeholder: 'JSON',
  wants: 'an object that names the shards and their buckets: docs/guides/shards.md',
  parse: text => (text === 'none' ? null : readText(text).config),
  mistakes: text => readText(text).mistakes,
  show: config => (config === null ? 'none' : config.shards.map(({ name }) => name).join(', ')),
}

function readText(text: string): ReturnType<typeof readShards> {
  try {
    return readShards(JSON.parse(text))
  } catch {
    // The parser's message quotes the text, which may hold a secret.
    return { config: undefined, map: undefined, mistakes: ['The shards must be JSON.'] }
  }
}
