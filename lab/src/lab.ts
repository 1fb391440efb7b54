/** The entry point of `npm run lab`. */
import { fileURLToPath } from 'node:url'
import { experiments } from './experiments.js'
import { endOnSignals } from './harness/end-on-signals.js'
import { runLab } from './harness/lab-command.js'

endOnSignals()
const EXIT_MS = 3000

process.exitCode = await runLab(process.argv.slice(2), {
  experiments,
  stdout: process.stdout,
  stderr: process.stderr,
  resultsFolder: fileURLToPath(new URL('../results', import.meta.url)),
  figuresFolder: fileURLToPath(new URL('../../docs/figures', import.meta.url)),
  nowMs: () => performance.now(),
})
// All output is written. A cassandra-driver client that was closed while it looked for a lost node may keep looking.
setTimeout(() => process.exit(), EXIT_MS).unref()
