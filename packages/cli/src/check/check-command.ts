/** Declares `freshet check`, of recordings, of rules and of stores. */
import { readCheckRulesLine } from '../access/check-rules-line.js'
import type { Command, CommandContext } from '../terminal/command.js'
import { readCheckLine } from './check-line.js'
import { readCheckStoreLine } from './check-store-line.js'

const HELP = `freshet check FILES...: did every read keep its promise? FILES are recordings, - is standard input.

  freshet serve --record server.ndjson       and clients with connect(url, { record })
  freshet check server.ndjson client-*.ndjson
  freshet check --follow server.ndjson
  freshet check rules access.rules           finds mistakes, tries the examples, prints the indexes that it needs
  freshet check store --data .freshet        finds damage; a server may run meanwhile
  freshet check store --data .freshet --salvage new      copies all that is whole into a new store

  --json, --traces N (told in full: 5), --complete (the recordings hold every write there was),
  --follow (reads on as FILE grows, and prints JSON lines), --interval TIME (between its summaries: 10s)
Exit codes: 0 every promise was kept, 1 one was broken, 2 a recording cannot be read. Of rules: 0 no mistakes, 1 some.
Of a store: 0 no damage, 1 damage, or it could not be examined.
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
