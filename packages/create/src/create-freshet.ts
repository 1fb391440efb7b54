#!/usr/bin/env node
/** `npm create @freshet my-app` makes what `freshet init my-app` makes. Exit codes: see `freshet init --help`. */
import { runCommand } from '@freshet/cli/dist/command/run-command.js'

const given = process.argv.slice(2)
if (given.length === 0) {
  console.error('Name the folder of the new app: npm create @freshet my-app')
  process.exitCode = 2
} else {
  process.exitCode = await runCommand(['init', ...given])
}
