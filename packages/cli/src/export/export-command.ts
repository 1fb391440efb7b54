/** Declares `freshet export`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readExportLine } from './export-line.js'

const HELP = `freshet export: objects, settings and schemas as lines of JSON, or one bucket as CSV.

  freshet export --url http://localhost:7700 --out all.ndjson
  freshet export --data .freshet --buckets 'shop/*' --out shop.ndjson      of one state, beside a running server
  freshet export --store postgres://user@host/database --buckets shop/products --out products.csv
  freshet export --url http://localhost:7700 | gzip > all.ndjson.gz

  --url URL | --data FOLDER | --store URL   from where; without them, FRESHET_STORE or FRESHET_DATA
  --buckets NAMES      shop/products,lab/* (all)
  --out FILE           written as FILE.part until it is whole; without it, standard output
  --format ndjson|csv  by the name of FILE (ndjson)
  --json               tells what was done as JSON
A token, where the server wants one, is taken from the variable FRESHET_TOKEN.
Exit codes: 0 whole, 1 failed, 2 an option is wrong, 130 stopped. Run it again after 1 or 130: it goes on.
`

export const exportCommand: Command = createCommand({
  name: 'export',
  help: HELP,
  readLine: readExportLine,
  run: async line => (await import('./run-export.js')).runExport(line),
})
