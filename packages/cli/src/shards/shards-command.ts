/** Declares `freshet shards`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readShardsLine } from './shards-line.js'

const HELP = `freshet shards init|check|add: manages the shards that the config names; docs/guides/shards.md

  freshet shards init                          prepares every shard, and creates the log of global writes
  freshet shards check --config shop.json      checks that the shards match the config and each other
  freshet shards add three --at 75000          gives the new shard three the keys from 75000 on, without downtime

  --config FILE   the config file (default freshet.json)
  --at KEY        for add: the first key of the new shard
  --rows N        for add: how many rows of a table to move at a time (default 2000)
  --at-rest       for add: confirm that no other program writes to these rows meanwhile; needed unless the config has
                  "localWrites": false
  --json          print JSON
Exit codes: 0 success, and for check all is well; 1 failed, or check found something; 2 the config or an option is wrong.
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
