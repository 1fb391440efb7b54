/** Declares `freshet import`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readImportLine } from './import-line.js'

const HELP = `freshet import FILES...: puts objects into a server or a store. Repeating an import changes nothing.

  freshet import all.ndjson --url http://localhost:7700
  freshet import all.ndjson --url http://localhost:7700 --dry-run
  freshet import products.csv --bucket shop/products --id sku --text zip,phone --data .freshet
  gunzip -c all.ndjson.gz | freshet import - --url http://localhost:7700

  --url URL | --data FOLDER | --store URL   the target (default: FRESHET_STORE or FRESHET_DATA); no server may have the
                       store of --data open
  --bucket NAME        the bucket for CSV, and for lines that name none: {"id":"1","name":"Tea"}
  --id NAME            the column or member that is the id (default id)
  --text COLUMNS       columns whose cells are text, whatever they look like
  --buckets NAMES      import only these buckets of an export: shop/products,lab/*
  --existing keep      do not change objects that exist already (default replace)
  --format ndjson|csv  the format (default: by the name of FILE, otherwise ndjson)
  --dry-run            change nothing, and print what would be done
  --json               print JSON
An exported file is verified before anything is done. Each line that is refused is reported as FILE:LINE: reason.
Exit codes: 0 everything is imported, 1 failed, or a line was refused, 2 a wrong option, 130 stopped: run the same command
to continue.
`

export const importCommand: Command = createCommand({
  name: 'import',
  help: HELP,
  readLine: readImportLine,
  run: async line => (await import('./run-import.js')).runImport(line),
})
