/** Declares `freshet bench`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readBenchLine } from './bench-line.js'

const HELP = `freshet bench: how many reads, conditional reads and writes a running server answers, and how quickly.

  freshet bench --url http://localhost:7700
  freshet bench --url http://10.0.0.5:7700 --through https://shop.example      reads through a cache as well
  freshet bench --url http://localhost:7700 --clients 64 --duration 30s --json

  --objects N (1000), --bytes N of each (500), --clients N at once (16), --duration TIME of each measurement (5s),
  --through URL (a cache), --bucket NAME (freshet/bench), --token TOKEN (FRESHET_TOKEN), --json
Where the server is on this machine, both share it: compare runs, not machines. It writes objects of its own and
removes them. What comes from a cache is told by Age.
Exit codes: 0 measured, 1 refused, or no answer, 2 an option is wrong, 130 stopped.
`

export const benchCommand: Command = createCommand({
  name: 'bench',
  help: HELP,
  readLine: readBenchLine,
  run: async line => (await import('./run-bench.js')).runBench(line),
})
