#!/usr/bin/env node
/** The `freshet` command. Exit codes: see `freshet --help`. */
import { runCommand } from './command/run-command.js'

process.exitCode = await runCommand(process.argv.slice(2))
