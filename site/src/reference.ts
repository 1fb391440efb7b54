/** The pages that are made from the code, as Markdown: so they cannot say anything else than it does. */
import { HELP_TOPICS } from '@freshet/cli/dist/command/help-topics.js'
import { flagOf, listOptions, type Option, variableOf } from '@freshet/cli/dist/config/options.js'
import { createFreshetServer, type MetricFamily } from '@freshet/server'
import { createMemoryStore } from '@freshet/stores/memory'

/** By the path of the page. */
export async function makeReference(readme: string): Promise<ReadonlyMap<string, string>> {
  const { api, families } = await askServer()
  return new Map([
    ['figures', figuresOf(readme)],
    ['reference/commands', commands()],
    ['reference/options', optionsTable()],
    ['reference/routes', routes(api)],
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

interface ApiOperation {
  readonly summary?: string
  readonly operationId?: string
  readonly responses?: Readonly<Record<string, { readonly description?: string; readonly $ref?: string }>>
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
}

function routes({ paths }: ApiDocument): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([method]) => ['get', 'put', 'post', 'patch', 'delete'].includes(method))
      .map(([method, { summary = '', responses = {} }]) => {
        const statuses = Object.keys(responses).join(', ')
        return `| ${method.toUpperCase()} | \`${path}\` | ${cell(summary)} | ${statuses} |`
      }),
  )
  return [
    '# HTTP',
    '',
    'Every route. A server tells all of it, with parameters, headers and schemas, as OpenAPI 3.1 at `/openapi.json`.',
    'Errors are [problems](../errors.md), RFC 9457.',
    '',
    '| method | path | | answers |',
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
