/** What `freshet COMMAND --help` prints of the commands that take the server's options. */
export const SERVER_HELP: Readonly<Record<'dev' | 'serve' | 'config', string>> = {
  dev: `freshet dev: runs one process, with the demo page and sample objects, for trying things out

  freshet dev                          http://localhost:7700, data in .freshet
  freshet dev --port 8080 --no-samples

It takes the options of serve: freshet --help lists the common ones, freshet config dev --dump lists all.
Exit codes: 0 stopped in order, 1 failed to start or to continue, 2 a wrong option, 130 forced by a second Ctrl-C.
`,
  serve: `freshet serve: runs a production server: a process on each core, JSON logs

  freshet serve --data /var/lib/freshet --host 0.0.0.0
  freshet serve --store sqlite:./shop.db                   a file, for servers of one machine
  freshet serve --store postgres://user@host/database      several servers may share one
  freshet serve --store postgres://user@a,b/database       finds the primary of several hosts, even after a failover
  FRESHET_PORT=80 freshet serve --config /etc/freshet.json

Options: freshet --help lists the common ones, freshet config --dump lists all.
For traces, set OTEL_EXPORTER_OTLP_ENDPOINT; docs/guides/operating.md.
Exit codes: 0 stopped in order, 1 failed to start or to continue, 2 a wrong option, 130 forced by a second Ctrl-C.
`,
  config: `freshet config [dev|serve]: checks the configuration without starting anything

  freshet config                       checks whether it is valid
  freshet config --dump                prints every option, its value and its source; hides secrets
  freshet config --dump --json         the same as JSON

Exit codes: 0 valid, 2 invalid.
`,
}
