/** What `freshet --help` prints, and of one command. */
import type { Option } from '../config/option.js'
import { flagOf, type Options } from '../config/options.js'
import { SERVER_HELP } from '../serve/server-help.js'
import { COMMANDS } from './commands.js'

const HEAD = `Freshet keeps JSON objects and serves them so that every web cache may keep them, and no reader sees stale data.

Usage:
  freshet dev                  try it: one process, the demo page, sample objects
  freshet serve                production: all cores, JSON logs
  freshet config [dev|serve]   check the configuration; --dump prints it, and where each value came from
  freshet check FILES...       did every read keep its promise? FILES are recordings, - is standard input
  freshet check rules FILE     finds mistakes, tries the examples, prints the indexes that it needs; docs/access.md
  freshet rules apply FILE     puts access rules into force, for all servers; diff, show, history, rollback, confirm
  freshet check store          finds damage in a store; --salvage NEW copies what is whole
  freshet token --sub NAME     makes a token, signed with FRESHET_TOKEN_SECRET or --key FILE; --inspect TOKEN reads one
  freshet doctor --through URL what do the caches between here and a server do, and is it safe? docs/doctor.md
  freshet migrate --url URL    takes every migration in ./migrations that is not done yet; docs/schemas.md
  freshet copy --from A --to B copies a store into an empty one while it is in use: folders, postgres://... and the like
  freshet tables add|remove|list makes tables of PostgreSQL or MariaDB buckets; docs/existing-tables.md
  freshet shards init          prepares the shards that the config names; freshet shards check, freshet shards add
  freshet ring status          nodes of a replicated store: ring init, join, leave, repair, collect; docs/ring.md
  freshet gen --url URL        prints TypeScript types from the schemas of all buckets
  freshet export, import       objects as NDJSON or CSV, from or to a server or a store
  freshet drop NAME --url URL  deletes a bucket, or a namespace with all its buckets; --yes
  freshet backup, restore      while servers run; to any state that was marked
  freshet bench --url URL      how many reads and writes a server answers, how quickly, also through a cache
  freshet init my-app          a small typed app that runs at once

  freshet COMMAND --help       examples, options and exit codes of each

Options:
`

const FOOT = `
Each option can also be a variable (FRESHET_LOG_LEVEL=error; PORT works too) or a key of freshet.json, or of the file
that --config names: { "logLevel": "error" }. Flags win over variables, variables over the file. There are more options,
mostly limits: freshet config --dump lists them all.

Exit codes: 0 done, or stopped in order; 1 failed; 2 the command line or the configuration is wrong; 130 stopped before
the end by Ctrl-C, or a server by a second one. For exit code 1 of check, doctor, gen and rules diff, see their --help.
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
    ['--config FILE', 'options from this JSON file instead of ./freshet.json'],
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
