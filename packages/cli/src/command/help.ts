/** What `freshet --help` and `freshet COMMAND --help` print. */
import type { Option } from '../config/option.js'
import { flagOf, type Options } from '../config/options.js'
import { SERVER_HELP } from '../serve/server-help.js'
import { COMMANDS } from './commands.js'

const HEAD = `Freshet stores JSON objects and serves them so that any web cache may keep copies and no reader sees stale data.

Usage: freshet COMMAND [options], such as: freshet dev, freshet serve --data /var/lib/freshet

Run a server:
  dev                     try Freshet: one process, the demo page, sample objects
  serve                   production: all cores, JSON logs
  config [dev|serve]      check the configuration; --dump prints it, and where each value came from
  init my-app             create a small typed app that runs at once

Data:
  export, import          objects as NDJSON or CSV, from or to a server or a store
  backup, restore         back up a store while servers run, and restore any state that was marked
  copy --from A --to B    copy a store into an empty one while it is in use
  drop NAME --url URL     delete a bucket, or a namespace with all its buckets
  migrate --url URL       run every migration in ./migrations that is not done yet; docs/guides/schemas.md
  gen --url URL           print TypeScript types from the schemas of all buckets

Access:
  rules apply FILE        put access rules in force, for all servers; also diff, show, history, rollback, confirm
  check rules FILE        find mistakes in rules, test their examples, print indexes they need; docs/guides/access.md
  token --sub NAME        make a token; --inspect TOKEN prints what is in one

Stores:
  tables add|remove|list  serve tables of PostgreSQL or MariaDB as buckets; docs/guides/existing-tables.md
  ring status             manage a replicated store's nodes: init, join, leave, repair, collect; docs/guides/ring.md
  shards init             prepare the shards that the config names; also check, add
  check store             find damage in a store; --salvage NEW copies everything undamaged

Checks:
  check FILES...          verify that every recorded read kept its promise
  doctor --through URL    test what the caches in front of a server do, and whether it is safe; docs/guides/doctor.md
  bench --url URL         measure how many reads and writes a server answers, how quickly, also through a cache

  freshet COMMAND --help  examples, options and exit codes of each command

Options:
`

const FOOT = `
Each option can also be set by a variable (FRESHET_LOG_LEVEL=error; PORT works too), or by a key of freshet.json or the
file that --config names: { "logLevel": "error" }. Flags win over variables, variables over the file. There are more
options, mostly limits: freshet config --dump lists them all.

Exit codes: 0 success, or stopped in order; 1 failed; 2 the command line or the configuration is wrong; 130 stopped
early by Ctrl-C (for a server, a second Ctrl-C). For exit code 1 of check, doctor, gen and rules diff, see their --help.
`

/** What `freshet COMMAND --help` prints, by command. */
export const HELP_TOPICS: Readonly<Record<string, string>> = {
  ...SERVER_HELP,
  ...Object.fromEntries(COMMANDS.map(({ name, help }) => [name, help])),
}

export function helpText(options: Options, topic?: string): string {
  const about = topic === undefined ? undefined : HELP_TOPICS[topic]
  if (about !== undefined) return about
  const rows: (readonly [flag: string, about: string])[] = [
    ...(Object.entries(options) as [string, Option][])
      .filter(([, option]) => option.isCommon)
      .map(([name, option]) => [usageOf(name, option), aboutWithDefault(option)] as const),
    ['--config FILE', 'read options from this JSON file instead of ./freshet.json'],
    ['--help, --version', ''],
  ]
  const width = Math.max(...rows.map(([flag]) => flag.length))
  const lines = rows.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`.trimEnd())
  return `${HEAD}${lines.join('\n')}\n${FOOT}`
}

function usageOf(name: string, { kind }: Option): string {
  return kind.placeholder === undefined ? `--[no-]${flagOf(name)}` : `--${flagOf(name)} ${kind.placeholder}`
}

function aboutWithDefault({ about, kind, defaults }: Option): string {
  const show = (value: Option['defaults']['dev']) => (kind.show ? kind.show(value) : String(value))
  const [dev, serve] = [show(defaults.dev), show(defaults.serve)]
  return dev === serve ? `${about} (${dev})` : `${about} (dev ${dev}, serve ${serve})`
}
