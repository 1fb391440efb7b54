/** The pages that are made from the code, as Markdown: so they cannot say anything else than it does. */
import { fileURLToPath } from 'node:url'
import { HELP_TOPICS } from '@freshet/cli/dist/command/help.js'
import type { Option } from '@freshet/cli/dist/config/option.js'
import { flagOf, listOptions, variableOf } from '@freshet/cli/dist/config/options.js'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, type MetricFamily } from '@freshet/server'
import { clientDoors } from './client-doors.js'
import { clientReference } from './client-reference.js'
import { type ApiDocument, httpReference } from './http-reference.js'

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
    ['reference/client', clientReference(clientDoors(PACKAGES), codesIn(errors))],
    ['reference/commands', commands()],
    ['reference/options', optionsPage()],
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

function optionsPage(): string {
  const entries = (Object.entries(listOptions(1)) as [string, Option][]).map(([name, option]) => {
    const { placeholder, show: shown = String } = option.kind
    const [dev, serve] = [shown(option.defaults.dev), shown(option.defaults.serve)]
    const usual = dev === serve ? code(dev) : `${code(serve)}, of \`freshet dev\` ${code(dev)}`
    const flag = placeholder === undefined ? flagOf(name) : `${flagOf(name)} ${placeholder}`
    return `<dt><code>${name}</code></dt>\n<dd>\n\n${option.about}<br>\`--${flag}\`, \`${variableOf(name)}\`; unless set: ${usual}\n\n</dd>`
  })
  return [
    '# Options',
    '',
    'Of `freshet dev` and `freshet serve`: a key of `freshet.json`, a flag, a variable. Flags win over variables, variables over the file.',
    'Where it depends on the machine, what one with one core has. `freshet config --dump` shows what is in effect, and where it came from.',
    '',
    '<dl class="members">',
    ...entries,
    '</dl>',
    '',
  ].join('\n')
}

function metrics(families: readonly MetricFamily[]): string {
  return [
    '# Metrics',
    '',
    'At `/metrics`, in the text format of Prometheus; with several workers, of all of them together. `freshet serve` adds those of its processes.',
    '',
    '<dl class="members">',
    ...families.map(
      ({ name, type, help }) => `<dt><code>${name} <small>${type}</small></code></dt>\n<dd>\n\n${help}\n\n</dd>`,
    ),
    '</dl>',
    '',
  ].join('\n')
}

function code(text: string): string {
  return text === '' ? 'none' : `\`${text}\``
}
