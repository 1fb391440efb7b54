/** The shards that queries go over: an object, best written in the config file. Its addresses are not shown: they hold passwords. */
import { readShards, type ShardsConfig } from '@freshet/shards/configuration'
import type { ValueKind } from './value-kinds.js'

export const SHARDS: ValueKind<ShardsConfig | null> = {
  placeholder: 'JSON',
  wants: 'an object that names the shards and what is on them: docs/shards.md',
  parse: text => (text === 'none' ? null : readText(text).config),
  mistakes: text => readText(text).mistakes,
  show: config => (config === null ? 'none' : config.shards.map(({ name }) => name).join(', ')),
}

function readText(text: string): ReturnType<typeof readShards> {
  try {
    return readShards(JSON.parse(text))
  } catch {
    // What the parser says quotes the text.
    return { config: undefined, map: undefined, mistakes: ['It must be JSON.'] }
  }
}
