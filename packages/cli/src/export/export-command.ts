/** Declares `freshet export`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readExportLine } from './export-line.js'

const HELP = `freshet export: writes objects, settings and schemas as lines of JSON, or one bucket as CSV

  freshet export --url http://localhost:7700 --out all.ndjson
  freshet export --data .freshet --buckets 'shop/*' --out shop.ndjson      one consistent state, beside a running server
  freshet export --store postgres://user@host/database --buckets shop/products --out products.csv
  freshet export --url http://localhost:7700 | gzip > all.ndjson.gz

  --url URL | --data FOLDER | --store URL   the source (default: FRESHET_STORE or FRESHET_DATA)
  --buckets NAMES      which buckets, such as shop/products,lab/* (default: all)
  --out FILE           the file to write, as FILE.part until it is complete (default: standard output)
  --format ndjson|csv  the format (default: by the name of FILE, otherwise ndjson)
  --json               print the result as JSON
If the server wants a token, set FRESHET_TOKEN.
Exit codes: 0 complete, 1 failed, 2 a wrong option, 130 stopped. After 1 or 130, run the same command to continue.
`

export const exportCommand: Command = createCommand({
  name: 'export',
  help: HELP,
  readLine: readExportLine,
  run: async line => (await import('./run-export.js')).runExport(line),
})
