/** The entry point of `npm run bench`. */
import { benches } from './benches.js'
import { runBench } from './harness/bench-command.js'
import { endOnSignals } from './harness/end-on-signals.js'

endOnSignals()

process.exitCode = await runBench(process.argv.slice(2), {
  benches,
  stdout: process.stdout,
  stderr: process.stderr,
  nowMs: () => performance.now(),
})
