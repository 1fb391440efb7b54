/** The pages generated from the code, as Markdown, so that they always match it. */
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

/** By the path of the page. `errors` is the text of docs/errors.md. */
export async function makeReference(errors: string): Promise<ReadonlyMap<string, string>> {
  const { api, families } = await askServer()
  return new Map([
    ['reference/client', clientReference(clientDoors(PACKAGES), codesIn(errors))],
    ['reference/commands', commands()],
    ['reference/options', optionsPage()],
    ['reference/routes', httpReference(api)],
    ['reference/metrics', metrics(families)],
  ])
}

/** What a server reports about itself. */
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

/** The error codes with a heading. */
function codesIn(errors: string): ReadonlySet<string> {
  return new Set([...errors.matchAll(/^## ([A-Z_]+)$/gm)].map(([, code]) => code!))
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
    return `<dt><code>${name}</code></dt>\n<dd>\n\n${option.about}<br>\`--${flag}\`, \`${variableOf(name)}\`; default: ${usual}\n\n</dd>`
  })
  return [
    '# Options',
    '',
    'Options of `freshet dev` and `freshet serve`: each is a key of `freshet.json`, a flag and an environment variable. Flags override variables, and variables override the file.',
    'Defaults that depend on the machine are shown for one core. `freshet config --dump` shows the values in effect, and where each came from.',
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
    'Served at `/metrics`, in the text format of Prometheus; with several workers, for all of them together. `freshet serve` adds metrics of its processes.',
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
