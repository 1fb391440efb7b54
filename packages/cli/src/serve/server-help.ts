/** What `freshet COMMAND --help` prints of the commands that take the server's options. */
export const SERVER_HELP: Readonly<Record<'dev' | 'serve' | 'config', string>> = {
  dev: `freshet dev: one process, the demo page, sample objects; for trying things out.

  freshet dev                          http://localhost:7700, data in .freshet
  freshet dev --port 8080 --no-samples

It takes the options of serve: freshet --help lists the common ones, freshet config dev --dump all.
Exit codes: 0 stopped in order, 1 could not start or go on, 2 an option is wrong, 130 forced by a second Ctrl-C.
`,
  serve: `freshet serve: production; a process on each core, JSON logs.

  freshet serve --data /var/lib/freshet --host 0.0.0.0
  freshet serve --store sqlite:./shop.db                   a file, for servers of one machine
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
}
