/** Declares `freshet shards`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readShardsLine } from './shards-line.js'

const HELP = `freshet shards init|check|add: the shards that the config names; docs/shards.md

  freshet shards init                          creates what versions are kept in, on every shard
  freshet shards check --config shop.json      are they as the config says, and alike?
  freshet shards add three --at 75000          gives the new shard three the keys from 75000 on, while all goes on

  --config FILE (freshet.json), --json, --at KEY, --rows N (2000, of a table at a time),
  --at-rest (nobody writes to these rows meanwhile; where the config has no "localWrites": false)
Exit codes: 0 done, or as the config says; 1 failed, or not so; 2 the config is wrong.
`

export const shardsCommand: Command = createCommand({
  name: 'shards',
  help: HELP,
  readLine: readShardsLine,
  run: async (line, { serverConfig }) => {
    const { shards } = serverConfig(line.configPath)
    return (await import('./run-shards.js')).runShards(line, shards)
  },
})
