/** What `freshet --help` prints. */
import { flagOf, type Option, type Options } from '../config/options.js'

const HEAD = `Freshet keeps JSON objects and serves them so that every web cache may keep them, and no reader sees stale data.

Usage:
  freshet dev                  try it: one process, the demo page, sample objects
  freshet serve                production: all cores, JSON logs
  freshet config [dev|serve]   check the configuration; --dump prints it, and where each value came from
  freshet check FILES...       did every read keep its promise? FILES are recordings, - is standard input
  freshet doctor --through URL what do the caches between here and a server do, and is it safe? docs/doctor.md
  freshet migrate --url URL    takes every migration in ./migrations that is not done yet; docs/schemas.md
  freshet copy --from A --to B copies a store into an empty one while it is in use: folders, postgres://... and the like
  freshet tables add|remove|list makes tables of a PostgreSQL database buckets; docs/existing-tables.md
  freshet shards init          prepares the shards that the config names; freshet shards check: are they as it says?
  freshet gen --url URL        prints TypeScript types from the schemas of all buckets

Options:
`

const FOOT = `
Options of check: --json, --traces N (told in full: 5), --complete (the recordings hold every write there was),
--follow (reads on as FILE grows, and prints JSON lines), --interval TIME (between its summaries: 10s).
Options of doctor: --server URL (past the caches), --purge-secret TEXT, --bucket NAME (freshet/doctor), --json;
--store URL (instead of --through: what could an engine lose, by its settings?).
Options of copy: --follow (goes on with what changes, until Ctrl-C), --json.
Options of tables: --store URL, --bucket NAME, --table NAME, --columns A,B (all).
Options of migrate: --folder FOLDER (migrations). Of gen: --out FILE, --check (is FILE what would be written?).

Each option can also be a variable (FRESHET_LOG_LEVEL=error; PORT works too) or a key of freshet.json, or of the file
that --config names: { "logLevel": "error" }. Flags win over variables, variables over the file. There are more options,
mostly limits: freshet config --dump lists them all.

Exit codes: 0 stopped in order, 1 could not start or go on, 2 the configuration is wrong, 130 forced by a second Ctrl-C.
Of check: 0 every promise was kept, 1 one was broken, 2 a recording cannot be read.
Of doctor: 0 readers are safe, 1 something is fatal or unsafe, 2 it could not be examined, 130 stopped.
Of copy: 0 copied and compared, 1 failed, 130 stopped: run it again to go on.
Of tables: 0 done, 1 failed.
Of migrate: 0 all are done, 1 one failed. Of gen: 0 written, or up to date; 1 out of date, or no answer.
`

export function helpText(options: Options): string {
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
