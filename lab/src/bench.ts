/** The door of `npm run bench`. */
import { benches } from './benches.js'
import { runBench } from './harness/bench-command.js'

// Ending by `exit` and not by the signal's default lets the browser's driver take the browser along.
process.once('SIGINT', () => process.exit(130))

process.exitCode = await runBench(process.argv.slice(2), {
  benches,
  stdout: process.stdout,
  stderr: process.stderr,
  nowMs: () => performance.now(),
})
