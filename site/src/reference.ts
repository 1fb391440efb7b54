/** The pages that are made from the code, as Markdown: so they cannot say anything else than it does. */
import { fileURLToPath } from 'node:url'
import { HELP_TOPICS } from '@freshet/cli/dist/command/help-topics.js'
import { flagOf, listOptions, type Option, variableOf } from '@freshet/cli/dist/config/options.js'
import { createFreshetServer, type MetricFamily } from '@freshet/server'
import { createMemoryStore } from '@freshet/stores/memory'
import { clientReference } from './client-reference.js'
import { type ApiDocument, httpReference } from './http-reference.js'
import { readExports } from './read-exports.js'

const PACKAGES = fileURLToPath(new URL('../../packages', import.meta.url))

export interface WrittenPages {
  readonly readme: string
  readonly errors: string
}

/** By the path of the page; of what is written beside the code, `readme` and docs/errors.md are used. */
export async function makeReference({ readme, errors }: WrittenPages): Promise<ReadonlyMap<string, string>> {
  const { api, families } = await askServer()
  return new Map([
    ['figures', figuresOf(readme)],
    ['reference/client', clientReference(readExports(PACKAGES, 'client'), codesIn(errors))],
    ['reference/commands', commands()],
    ['reference/options', optionsTable()],
    ['reference/routes', httpReference(api)],
    ['reference/metrics', metrics(families)],
  ])
}

/** What a server tells of itself. */
async function askServer(): Promise<{ readonly api: ApiDocument; readonly families: readonly MetricFamily[] }> {
  const store = createMemoryStore()
  const server = createFreshetServer({ store })
  const { url } = await server.listen({ port: 0 })
  try {
    const api = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument
    return { api, families: server.readMetrics() }
  } finally {
    await server.close({ graceMs: 0 })
    await store.close()
  }
}

/** Those that have a heading. */
function codesIn(errors: string): ReadonlySet<string> {
  return new Set([...errors.matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code!))
}

/** Of the README, which is where they are kept. */
function figuresOf(readme: string): string {
  const [, section] = /\n## Figures\n(.*?)(?=\n## |$)/s.exec(readme) ?? []
  if (section === undefined) throw new Error('The README has no section "## Figures" any more.')
  return `# Figures\n\nEach with the command that prints it.\n${section}`
}

function commands(): string {
  const topics = Object.entries(HELP_TOPICS).map(
    ([name, help]) => `## freshet ${name}\n\n\`\`\`text\n${help.trim()}\n\`\`\``,
  )
  return `# Commands\n\nWhat \`freshet COMMAND --help\` prints.\n\n${topics.join('\n\n')}\n`
}

function optionsTable(): string {
  const rows = (Object.entries(listOptions(1)) as [string, Option][]).map(([name, option]) => {
    const show = (value: Option['defaults']['dev']) => (option.kind.show ? option.kind.show(value) : String(value))
    const [dev, serve] = [show(option.defaults.dev), show(option.defaults.serve)]
    const usual = dev === serve ? code(dev) : `dev ${code(dev)}, serve ${code(serve)}`
    return `| \`${name}\` | \`--${flagOf(name)}\`<br>\`${variableOf(name)}\` | ${cell(option.about)} | ${usual} |`
  })
  return [
    '# Options',
    '',
    'Of `freshet dev` and `freshet serve`: a key of `freshet.json`, a flag, a variable. Flags win over variables, variables over the file.',
    'Where it depends on the machine, what one with one core has.',
    '',
    '| key | flag, variable | | unless set |',
    '| --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n')
}

function metrics(families: readonly MetricFamily[]): string {
  return [
    '# Metrics',
    '',
    'At `/metrics`, in the text format of Prometheus; with several workers, of all of them together. `freshet serve` adds those of its processes.',
    '',
    '| name | kind | |',
    '| --- | --- | --- |',
    ...families.map(({ name, type, help }) => `| \`${name}\` | ${type} | ${cell(help)} |`),
    '',
  ].join('\n')
}

function code(text: string): string {
  return text === '' ? 'none' : `\`${cell(text)}\``
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
