/**
 * Every code block of docs/ is run by a test, or checked here as far as possible: the command accepts commands and options,
 * experiments exist, JSON and TypeScript can be parsed, imports resolve. A block in a language without a check is a failure.
 */
import { readFileSync } from 'node:fs'
import { readCommandLine } from '@freshet/cli/dist/command/command-line.js'
import { listOptions } from '@freshet/cli/dist/config/options.js'
import { benches } from '@freshet/lab/dist/benches.js'
import { experiments } from '@freshet/lab/dist/experiments.js'
import { readCaches } from '@freshet/server/configuration'
import { readShards } from '@freshet/shards/configuration'
import { transformWithOxc } from 'vite'
import { describe, expect, test } from 'vitest'
import { blocksOf, type DocBlock, listDocs, repository } from './doc-blocks.js'

/** The parts of each page that run as written, and the tests that run them. */
const RUN: Readonly<Record<string, { readonly by: string; readonly languages: readonly string[] }>> = {
  'docs/tutorials/first-steps.md': { by: 'tutorial.test.ts', languages: ['js', 'sh', 'text'] },
  'docs/tutorials/purge-race.md': { by: 'tutorial.test.ts', languages: ['js', 'sh', 'json', 'text', 'html'] },
  'docs/tutorials/your-own-app.md': { by: 'tutorial.test.ts', languages: ['js', 'sh', 'html'] },
  'docs/guides/existing-tables.md': { by: 'existing-tables.test.ts', languages: ['js', 'sh', 'sql'] },
  'docs/guides/instead-of-redis.md': { by: 'instead-of-redis-and-postgres.test.ts', languages: ['js', 'sh'] },
  'docs/guides/access.md': { by: 'access-command.test.ts', languages: ['access'] },
  'docs/guides/transactions.md': { by: 'curl-examples.test.ts', languages: ['sh', 'json'] },
  'docs/guides/counters-and-retries.md': { by: 'curl-examples.test.ts', languages: ['sh', 'json'] },
}
const SCRIPTS = (JSON.parse(readFileSync(`${repository}package.json`, 'utf8')) as { scripts: object }).scripts
const OPTIONS = listOptions(1)

const CHECKS: Readonly<Record<string, (block: DocBlock) => unknown>> = {
  js: checkListed,
  sh: ({ text }) => commandsIn(text).forEach(checkCommand),
  console: ({ text }) =>
    commandsIn(text.replaceAll(/^(?!\$ ).*$/gm, '').replaceAll(/^\$ /gm, '')).forEach(checkCommand),
  ts: checkTypeScript,
  json: checkJson,
  // Output and grammars have no check.
  text: () => undefined,
  '': () => undefined,
}

const checkedIn = (page: string) => blocksOf(page).filter(({ language }) => !RUN[page]?.languages.includes(language))

describe.each(listDocs().filter(page => checkedIn(page).length > 0))('%s', page => {
  const blocks = checkedIn(page)

  test.each(blocks.map(block => [block.line, block.language, block] as const))(
    'the block in line %i (%s) is valid',
    async (_line, language, block) => {
      expect(Object.keys(CHECKS)).toContain(language)
      await CHECKS[language]!(block)
    },
  )
})

test.each(Object.entries(RUN))('the test listed for %s runs it', (page, { by }) => {
  const text = readFileSync(new URL(`./${by}`, import.meta.url), 'utf8')
  expect(text).toContain(/docs\/(.*)\.md/.exec(page)![1])
})

/** `readme-examples.test.ts` runs them; it takes every page that has some. */
function checkListed({ text }: DocBlock): void {
  expect(text).toContain('console.log(')
}

/** Each command with its continuation lines, without comments. */
function commandsIn(text: string): readonly string[] {
  const commands: string[] = []
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    // What is within quotes may go on in the next lines.
    const isOpen = (commands.at(-1)?.match(/'/g)?.length ?? 0) % 2 === 1
    if (isOpen) commands[commands.length - 1] += `\n${line}`
    else if (line.trim() !== '' && !line.trim().startsWith('#')) commands.push(line.trim())
  }
  return commands.map(command => command.replace(/\s+#[^'"]*$/, ''))
}

function checkCommand(command: string): void {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c!)
  const [program, ...rest] = words
  if (program === 'freshet') {
    const end = rest.findIndex(word => ['|', '>', '&&', ';'].includes(word))
    // A command that a reader is to fill in takes anything for a value.
    readCommandLine(end === -1 ? rest : rest.slice(0, end), OPTIONS)
  } else if (program === 'npm') checkScript(rest, command)
  else expect(['curl', 'export', 'npm', 'node', 'systemctl', 'gunzip']).toContain(program)
}

function checkScript([verb, name, , what]: readonly string[], command: string): void {
  if (verb === 'run') expect(Object.keys(SCRIPTS), command).toContain(name)
  if (name === 'lab')
    expect(
      experiments.map(each => each.name),
      command,
    ).toContain(what)
  if (name === 'bench')
    expect(
      benches.map(each => each.name),
      command,
    ).toContain(what)
}

async function checkTypeScript({ text }: DocBlock): Promise<void> {
  await transformWithOxc(text, 'block.ts')
  for (const [, names, module] of text.matchAll(/^import \{ ([^}]*) \} from '(@freshet\/[^']*)'/gm)) {
    const found = (await import(module!)) as object
    const values = names!
      .split(',')
      .map(name => name.trim())
      .filter(name => !name.startsWith('type '))
    expect(Object.keys(found)).toEqual(expect.arrayContaining(values))
  }
}

/** One value, or one per line; configurations are read as such. */
function checkJson({ text }: DocBlock): void {
  const values = text.startsWith('{ "path"') ? text.trim().split('\n') : [text]
  for (const value of values) {
    const { caches, shards } = JSON.parse(value) as { caches?: unknown; shards?: unknown }
    if (caches !== undefined) expect(readCaches(caches, {}).mistakes).toEqual([])
    if (shards !== undefined) expect(readShards(shards).mistakes).toEqual([])
  }
}
