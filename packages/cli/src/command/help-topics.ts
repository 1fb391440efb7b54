/** What `freshet COMMAND --help` prints: what it does, examples to copy, its options, its exit codes. */
export const HELP_TOPICS: Readonly<Record<string, string>> = {
  dev: `freshet dev: one process, the demo page, sample objects; for trying things out.

  freshet dev                          http://localhost:7700, data in .freshet
  freshet dev --port 8080 --no-samples

It takes the options of serve: freshet --help lists the common ones, freshet config dev --dump all.
Exit codes: 0 stopped in order, 1 could not start or go on, 2 an option is wrong, 130 forced by a second Ctrl-C.
`,
  serve: `freshet serve: production; a process on each core, JSON logs.

  freshet serve --data /var/lib/freshet --host 0.0.0.0
  freshet serve --store postgres://user@host/database      several servers may share one
  freshet serve --store postgres://user@a,b/database       the primary of several, also after a failover
  FRESHET_PORT=80 freshet serve --config /etc/freshet.json

Options: freshet --help lists the common ones, freshet config --dump all of them.
Traces: set OTEL_EXPORTER_OTLP_ENDPOINT; docs/operating.md.
Exit codes: 0 stopped in order, 1 could not start or go on, 2 an option is wrong, 130 forced by a second Ctrl-C.
`,
  config: `freshet config [dev|serve]: checks the configuration without starting anything.

  freshet config                       is it valid?
  freshet config --dump                every option, its value, and where that came from; secrets are hidden
  freshet config --dump --json         the same for programs

Exit codes: 0 it is valid, 2 it is not.
`,
  export: `freshet export: objects, settings and schemas as lines of JSON, or one bucket as CSV.

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
`,
  drop: `freshet drop NAME: deletes a bucket with its objects, settings and schemas, or all buckets of a namespace.

  freshet drop shop/products --url http://localhost:7700 --yes
  freshet drop shop --url http://localhost:7700 --yes              every bucket of shop

  --url URL            the server; it finishes the deletion also if the command is stopped, or after its own restart
  --yes                without it nothing is deleted
  --json
The command ends when everything is gone. The server refuses to delete tables of other programs (freshet tables remove),
and buckets that schemas of other buckets refer to.
If the server has access rules, set FRESHET_TOKEN to the token of an admin.
Exit codes: 0 it is gone, or never existed; 1 refused or failed; 2 an option is wrong, or --yes is missing.
`,
  import: `freshet import FILES...: puts objects into a server or a store. Run again, it changes nothing that is there already.

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
`,
  backup: `freshet backup FOLDER: all of a store, then only what has changed; while servers use it.

  freshet backup backups --data .freshet            the first time all of it, then what is new
  freshet backup backups --data .freshet --follow   every change as it happens, until Ctrl-C
  freshet backup backups --store postgres://user@host/database
  freshet backup backups --verify                   is it good, and which states does it have?

  --data FOLDER | --store URL   of what; without them, FRESHET_STORE or FRESHET_DATA
  --follow   so that restore --at finds the state of (almost) any moment
  --full     all of it, also where what is new would do
  --verify   reads the folder, every line and digest; --json
Exit codes: 0 done, 1 failed, or the folder is damaged, 2 an option is wrong, 130 stopped: what was marked is kept.
`,
  restore: `freshet restore FOLDER: a state of a backup into an empty store, checked and compared.

  freshet restore backups --data restored                               the latest
  freshet restore backups --data restored --at 2026-11-16T15:00:00Z     the last one marked before that
  freshet restore backups --store postgres://user@host/database --at 2761787088803
  freshet restore backups --data .freshet --damaged                     only what is damaged; the rest stays as it is

  --data FOLDER | --store URL   to where; it must be empty. Without them, FRESHET_STORE or FRESHET_DATA
  --at TIME|POSITION            (the latest state)
  --key KEY | --damaged         only this key (shop/products/42), or all damaged ones, into a store with data; stop
                                the server of a folder first
  --json
An empty store gets a log of its own: sessions notice, and start over. docs/backups.md says what is not in a backup.
Exit codes: 0 restored and compared, 1 failed: a folder is as it was, 2 an option is wrong, 130 stopped.
`,
  init: `freshet init FOLDER: a small typed app, Vite and the SDK, that runs at once.

  freshet init my-app && cd my-app && npm install && npm run dev
  freshet init my-app --link ../freshet     with the packages of a clone, not those of the registry

  --link FOLDER   a clone of Freshet, built (the one that this command is of, if it is of one)
  --registry      the packages of npm's registry, also where this command is of a clone
  --json
Exit codes: 0 made, 1 failed: nothing is there, 2 an option is wrong, or there is something in FOLDER.
`,
  copy: `freshet copy: one store into another, while servers use the first.

  freshet copy --from .freshet --to postgres://user@host/database
  freshet copy --from postgres://... --to redis://... --follow     goes on with what changes, until Ctrl-C

  --from STORE, --to STORE   folders, or addresses of engines; the target must be empty. With a password, better
                             FRESHET_FROM, FRESHET_TO, or files: FRESHET_FROM_FILE=/run/secrets/from
  --follow, --json
Exit codes: 0 copied and compared, 1 failed, 2 an option is wrong, 130 stopped: run it again to go on.
`,
  check: `freshet check FILES...: did every read keep its promise? FILES are recordings, - is standard input.

  freshet serve --record server.ndjson       and clients with connect(url, { record })
  freshet check server.ndjson client-*.ndjson
  freshet check --follow server.ndjson
  freshet check rules access.rules           finds mistakes, tries the examples, prints the indexes that it needs
  freshet check store --data .freshet        finds damage; a server may run meanwhile
  freshet check store --data .freshet --salvage new      copies all that is whole into a new store

  --json, --traces N (told in full: 5), --complete (the recordings hold every write there was),
  --follow (reads on as FILE grows, and prints JSON lines), --interval TIME (between its summaries: 10s)
Exit codes: 0 every promise was kept, 1 one was broken, 2 a recording cannot be read. Of rules: 0 no mistakes, 1 some.
Of a store: 0 no damage, 1 damage, or it could not be examined.
`,
  rules: `freshet rules: the access rules in force, which all servers over a store share; docs/access.md

  freshet rules diff shop.access --url http://localhost:7700      what would change and become more open
  freshet rules apply shop.access --url http://localhost:7700     with FRESHET_TOKEN, the token of an admin
  freshet rules apply shop.access --widen --url ...               also if they allow more than those before
  freshet rules show, history, rollback [VERSION], remove --url ...
  freshet rules confirm --data .freshet                           the rules that came with a backup or a copied folder
  freshet rules apply shop.access --data .freshet                 without a token, while no server has the folder open
  freshet rules apply shop.access --store postgres://user@host/database

  --url URL | --data FOLDER | --store URL   where; without them, FRESHET_STORE or FRESHET_DATA
  --if-version N   only if this version is in force (the version that the command has just read)
  --widen          for apply, rollback and remove: the new rules may allow more than those before
  --json
rollback puts the rules before the last change into force, or those of VERSION. remove lets everybody do everything.
Exit codes: 0 done, 1 failed or refused, 2 an option is wrong. Of diff: 0 no difference, 1 some.
`,
  token: `freshet token: makes a token for a service or for trying things out, or reads one; docs/access.md

  FRESHET_TOKEN_SECRET=... freshet token --sub ada --claims '{"role":"admin"}' --expires 8h
  freshet token --sub ada --key private.pem
  freshet token --inspect eyJhbGciOi...

  --sub NAME, --claims JSON, --expires TIME (1h), --key FILE (private key), --inspect TOKEN, --config FILE, --json
  --url URL | --store URL | --data FOLDER   records in the audit there that the token was made: as the admin of
                                            FRESHET_TOKEN, or in the store itself. Without one of them, no record
Exit codes: 0 made, or believed; 1 not believed; 2 an option is wrong.
`,
  doctor: `freshet doctor: what do the caches between here and a server do, and is it safe? docs/doctor.md

  freshet doctor --through https://shop.example
  freshet doctor --through https://shop.example --server http://10.0.0.5:7700
  freshet doctor --store redis://localhost      what could an engine lose, by its settings?
  FRESHET_STORE_FILE=/run/secrets/store freshet doctor      the same; a password is in no command line
  freshet doctor --data .freshet                the same for an embedded store, and is it damaged?

  --through URL | --store URL | --data FOLDER (without them, FRESHET_STORE, or a file: FRESHET_STORE_FILE)
  --server URL (past the caches), --purge-secret TEXT (FRESHET_PURGE_SECRET), --bucket NAME, --json
  --token TOKEN (FRESHET_TOKEN): for its writes, where the server has rules. Its reads are everybody's, so the rules must let
  anyone read its buckets: bucket freshet-doctor/*, with the line: read, list
Exit codes: 0 readers are safe, 1 something is fatal or unsafe, 2 it could not be examined, 130 stopped.
`,
  migrate: `freshet migrate: takes every migration of a folder that a server has not had yet; docs/schemas.md

  freshet migrate --url http://localhost:7700
  freshet migrate --url http://localhost:7700 --folder db/migrations

  --folder FOLDER (migrations), --json
Exit codes: 0 all are done, 1 one failed: run it again to go on, 2 an option or a migration is wrong.
`,
  gen: `freshet gen: TypeScript types from the schemas of all buckets.

  freshet gen --url http://localhost:7700 --out src/schema.ts
  freshet gen --url http://localhost:7700 --out src/schema.ts --check     in CI: is it up to date?

  --out FILE (standard output), --check, --json
Exit codes: 0 written, or up to date; 1 out of date, or no answer; 2 an option is wrong.
`,
  bench: `freshet bench: how many reads, conditional reads and writes a running server answers, and how quickly.

  freshet bench --url http://localhost:7700
  freshet bench --url http://10.0.0.5:7700 --through https://shop.example      reads through a cache as well
  freshet bench --url http://localhost:7700 --clients 64 --duration 30s --json

  --objects N (1000), --bytes N of each (500), --clients N at once (16), --duration TIME of each measurement (5s),
  --through URL (a cache), --bucket NAME (freshet/bench), --token TOKEN (FRESHET_TOKEN), --json
Where the server is on this machine, both share it: compare runs, not machines. It writes objects of its own and
removes them. What comes from a cache is told by Age.
Exit codes: 0 measured, 1 refused, or no answer, 2 an option is wrong, 130 stopped.
`,
  tables: `freshet tables add|remove|list: makes tables of the database that the store is in buckets, of PostgreSQL or MariaDB.

  freshet tables add --store postgres://user@host/database --table public.products --bucket shop/products
  freshet tables add --store mariadb://user@host/database --table database.products --bucket shop/products
  freshet tables list --store postgres://user@host/database
  freshet tables remove --store postgres://user@host/database --bucket shop/products

  --store URL (FRESHET_STORE, or a file: FRESHET_STORE_FILE), --bucket NAME, --table NAME, --columns A,B (all), --json;
  docs/existing-tables.md
Exit codes: 0 done, 1 failed, 2 an option is wrong.
`,
  ring: `freshet ring: a replicated store over nodes that a ring file names; docs/ring.md

  freshet ring init                            makes a ring of the nodes in ./ring.json
  freshet ring status                          nodes, shares, hints; with --lag what each has missed
  freshet ring join d redis://10.0.1.4         a new node, which is empty; goes on if it was cut short
  freshet ring leave a                         its data goes to the others
  freshet ring leave a --lost                  it does not come back, nor what it alone had
  freshet ring repair                          makes all replicas alike; --after KEY goes on from there
  freshet ring collect                         drops tombstones that all replicas have

  --ring FILE (ring.json), --json
  --lag                of status: compares all keys
  --rack NAME, --data-centre NAME, --from KEY   of join: where the node is, and where its stretch of ordered keys begins
A token, for nodes that are Freshet servers, is taken from the variable FRESHET_TOKEN.
Exit codes: 0 done, and of status all nodes are well; 1 failed, or a node is not well; 2 an option is wrong; 130 stopped.
`,
  shards: `freshet shards init|check|add: the shards that the config names; docs/shards.md

  freshet shards init                          creates what versions are kept in, on every shard
  freshet shards check --config shop.json      are they as the config says, and alike?
  freshet shards add three --at 75000          gives the new shard three the keys from 75000 on, while all goes on

  --config FILE (freshet.json), --json, --at KEY, --rows N (2000, of a table at a time),
  --at-rest (nobody writes to these rows meanwhile; where the config has no "localWrites": false)
Exit codes: 0 done, or as the config says; 1 failed, or not so; 2 the config is wrong.
`,
}
