/** Declares `freshet import`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readImportLine } from './import-line.js'

const HELP = `freshet import FILES...: puts objects into a server or a store. Run again, it changes nothing that is there already.

  freshet import all.ndjson --url http://localhost:7700
  freshet import all.ndjson --url http://localhost:7700 --dry-run
  freshet import products.csv --bucket shop/products --id sku --text zip,phone --data .freshet
  gunzip -c all.ndjson.gz | freshet import - --url http://localhost:7700

  --url URL | --data FOLDER | --store URL   to where; a store must not be open in a server; without them,
                       FRESHET_STORE or FRESHET_DATA
  --bucket NAME        where CSV goes, and lines that do not say so: {"id":"1","name":"Tea"}
  --id NAME            the column or member that is the id (id)
  --text COLUMNS       cells that are text, whatever they look like
  --buckets NAMES      only these of an export: shop/products,lab/*
  --existing keep      leave alone what is there (replace)
  --format ndjson|csv  by the name of FILE (ndjson)
  --dry-run, --json
A file that was exported is checked before anything is done. Each line that cannot be taken is told: FILE:LINE: why.
Exit codes: 0 all is there, 1 failed, or a line was refused, 2 an option is wrong, 130 stopped: run it again to go on.
`

export const importCommand: Command = createCommand({
  name: 'import',
  help: HELP,
  readLine: readImportLine,
  run: async line => (await import('./run-import.js')).runImport(line),
})
