/** Declares `freshet bench`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readBenchLine } from './bench-line.js'

const HELP = `freshet bench: measures how many reads, conditional reads and writes a running server answers, and how quickly.

  freshet bench --url http://localhost:7700
  freshet bench --url http://10.0.0.5:7700 --through https://shop.example      also reads through a cache
  freshet bench --url http://localhost:7700 --clients 64 --duration 30s --json

  --url URL         the server
  --through URL     a cache in front of it
  --objects N       how many objects to write and read (default 1000)
  --bytes N         the size of each object (default 500)
  --clients N       how many requests are sent at once (default 16)
  --duration TIME   how long each measurement takes (default 5s)
  --bucket NAME     the bucket to use (default freshet/bench)
  --token TOKEN     an access token (default: FRESHET_TOKEN)
  --json            print JSON
A server on this machine shares it with the benchmark: compare runs, not machines. The command writes objects of its own
and removes them afterwards. An answer with an Age header counts as served from a cache.
Exit codes: 0 measured, 1 refused or not answered, 2 a wrong option, 130 stopped.
`

export const benchCommand: Command = createCommand({
  name: 'bench',
  help: HELP,
  readLine: readBenchLine,
  run: async line => (await import('./run-bench.js')).runBench(line),
})
