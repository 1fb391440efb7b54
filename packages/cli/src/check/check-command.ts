/** Declares `freshet check`, for recordings, rules and stores. */
import { readCheckRulesLine } from '../access/check-rules-line.js'
import type { Command, CommandContext } from '../terminal/command.js'
import { readCheckLine } from './check-line.js'
import { readCheckStoreLine } from './check-store-line.js'

const HELP = `freshet check FILES...: verifies that every recorded read kept its promise. FILES: recordings; - is standard input

  freshet serve --record server.ndjson       makes a recording; clients make theirs with connect(url, { record })
  freshet check server.ndjson client-*.ndjson
  freshet check --follow server.ndjson
  freshet check rules access.rules           finds mistakes, tests the examples, prints the indexes that the rules need
  freshet check store --data .freshet        finds damage; a server may run meanwhile
  freshet check store --data .freshet --salvage new      copies everything undamaged into a new store

  --json            print JSON
  --traces N        how many violations to print in full (default 5)
  --complete        the recordings hold every write there was
  --follow          read on as FILE grows, and print JSON lines
  --interval TIME   with --follow: how often to print a summary (default 10s)
Exit codes: 0 every promise was kept, 1 a promise was broken, 2 a recording cannot be read. For rules: 0 no mistakes,
1 mistakes. For a store: 0 no damage, 1 damage, or it could not be examined.
`

export const checkCommand: Command = {
  name: 'check',
  help: HELP,
  read: (argv, context) => {
    if (argv[0] === 'rules') return readRules(argv.slice(1))
    if (argv[0] === 'store') return readStore(argv.slice(1), context)
    const line = readCheckLine(argv)
    return async () => (await import('./check-recordings.js')).checkRecordings(line)
  },
}

function readRules(argv: readonly string[]): ReturnType<Command['read']> {
  const line = readCheckRulesLine(argv)
  return async () => (await import('../access/check-rules.js')).checkRules(line)
}

function readStore(argv: readonly string[], { environment }: CommandContext): ReturnType<Command['read']> {
  const line = readCheckStoreLine(argv, environment)
  return async () => (await import('./check-store.js')).checkStore(line)
}
