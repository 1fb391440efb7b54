/** The page of everything that `@freshet/client` exports, as Markdown with signatures in HTML: the types in them are links. */
import type { Door, Exported, Member } from './read-exports.js'
import { escapeHtml, uniqueId } from './render.js'

/** The sections, by the file that declares an export. The first match counts. */
const TOPICS: readonly (readonly [title: string, files: RegExp])[] = [
  ['Connections and sessions', /^client\/src\/(connect|database|session\/|http\/)/],
  ['Objects and bytes', /^client\/src\/(buckets\/|reading\/|writing\/(?!outbox))|^core\//],
  ['Finding objects', /queries\//],
  ['Transactions', /^client\/src\/transactions\//],
  ['Counting', /^client\/src\/counters\//],
  ['Writes that outlive a page', /^client\/src\/writing\/outbox/],
  ['Recordings and clocks', /^client\/src\/(recording|clock)\//],
  ['Errors', /freshet-error\.ts$/],
  ['Requests and answers', /^protocol\//],
]

const DOORS: Readonly<Record<string, string>> = {
  '@freshet/shards/client': 'SQL over shards: @freshet/shards/client',
  '@freshet/client/entities': 'Entities: @freshet/client/entities',
}

interface Placed extends Exported {
  readonly door: string
  /** The title of its section. */
  readonly title: string
  /** The id of its heading. */
  readonly id: string
}

/** The import paths whose functions and methods all have an example, and whose interfaces explain each member. */
const EXEMPLARY = /^@freshet\/client/

const TITLE = 'Client API'
const LINES_MAX = 30
const KINDS: readonly Exported['kind'][] = ['function', 'class', 'interface', 'type']

/** `codes`: the error codes, each a heading of docs/errors.md. Throws if an export has no doc comment, or a method no example. */
export function clientReference(doors: readonly Door[], codes: ReadonlySet<string>): string {
  const silent = undocumented(doors)
  if (silent.length > 0) throw new Error(`Add doc comments in the code for ${silent.join(', ')}.`)
  const bare = withoutExample(doors.filter(({ name }) => EXEMPLARY.test(name)))
  if (bare.length > 0) throw new Error(`Add an @example to the doc comments of ${bare.join(', ')}.`)
  const sections = placed(doors)
  const page = new ClientPage([...sections.values()].flat(), codes)
  return [
    `# ${TITLE}`,
    '',
    'Everything that programs import from `@freshet/client`, from its code and the comments in it. [The client](../../packages/client/README.md) begins with',
    'examples; [queries](../guides/queries.md), [transactions](../guides/transactions.md), [entities](../guides/entities.md) and [shards](../guides/shards.md) have pages of their own.',
    '',
    ...[...sections].map(([title, exports]) => `- **${title}:** ${exports.map(linkTo).join(', ')}`),
    ...[...sections].map(([title, exports]) => `\n## ${title}\n\n${exports.map(each => page.entry(each)).join('\n')}`),
  ].join('\n')
}

/** Exports and their members without a doc comment. The comment of a class covers its constructor. */
export function undocumented(doors: readonly Door[]): readonly string[] {
  return doors.flatMap(({ name: door, exports }) =>
    exports.flatMap(({ name, kind, about, members }) => [
      ...(about === '' ? [name] : []),
      ...(kind === 'class' || EXEMPLARY.test(door) ? members : [])
        .filter(member => member.about === '' && member.kind !== 'constructor')
        .map(member => `${name}.${member.name}`),
    ]),
  )
}

/**
 * Functions, and methods of classes and interfaces, with fewer examples than ways to call them. An example of an interface shows
 * how to implement it, and covers its methods.
 */
export function withoutExample(doors: readonly Door[]): readonly string[] {
  return doors.flatMap(({ exports }) =>
    exports.flatMap(({ name, kind, examples, signatures, members }) => {
      if (kind === 'function') return examples.length < signatures.length ? [name] : []
      if (kind === 'interface' && examples.length > 0) return []
      return members
        .filter(member => member.kind === 'method' && member.examples.length < member.signatures.length)
        .map(member => `${name}.${member.name}`)
    }),
  )
}

/** By section, with the ids of the headings. */
function placed(doors: readonly Door[]): ReadonlyMap<string, readonly Placed[]> {
  const all = doors.flatMap(({ name: door, exports }) =>
    exports.map(exported => ({ ...exported, door, title: titleOf(door, exported) })),
  )
  const ids = new Map<string, number>()
  uniqueId(TITLE, ids)
  const titles = [...TOPICS.map(([title]) => title), ...Object.values(DOORS)]
  return new Map(
    titles.map(title => {
      uniqueId(title, ids)
      const here = all.filter(each => each.title === title).sort(byKindAndName)
      return [title, here.map(each => ({ ...each, id: uniqueId(each.name, ids) }))]
    }),
  )
}

function titleOf(door: string, { name, file }: Exported): string {
  const title = DOORS[door] ?? TOPICS.find(([, files]) => files.test(file))?.[0]
  if (title === undefined)
    throw new Error(`${name} of ${door} has no section. Add its file to TOPICS in client-reference.ts.`)
  return title
}

function byKindAndName(a: Exported, b: Exported): number {
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1)
}

function linkTo({ name, id }: Placed): string {
  return `[${name}](#${id})`
}

function exampleBlock(code: string): string {
  return `\`\`\`ts\n${code}\n\`\`\`\n`
}

/** A signature that would fill a screen is moved into a paragraph. */
function shortened(signature: string): string {
  if (signature.split('\n').length <= LINES_MAX) return signature
  return signature.replaceAll(/\/\/.*$/gm, '').replaceAll(/\s+/g, ' ')
}

class ClientPage {
  readonly #exports: readonly Placed[]
  readonly #codes: ReadonlySet<string>

  constructor(exports: readonly Placed[], codes: ReadonlySet<string>) {
    this.#exports = exports
    this.#codes = codes
  }

  entry(exported: Placed): string {
    const members = exported.members.map(member => this.#member(exported, member))
    return [
      `### ${exported.name}\n`,
      `${this.#prose(exported.about)}\n`,
      ...exported.examples.map(exampleBlock),
      `<pre class="signature"><code>${exported.signatures.map(text => this.#code(exported, text)).join('\n')}</code></pre>\n`,
      ...(members.length === 0 ? [] : ['<dl class="members">', ...members, '</dl>\n']),
      this.#inherited(exported),
    ].join('\n')
  }

  #member(exported: Placed, { signatures, about, examples }: Member): string {
    const terms = signatures.map(signature => `<dt><code>${this.#code(exported, signature)}</code></dt>`)
    const blocks = [this.#prose(about), ...examples.map(exampleBlock)].join('\n\n')
    return [...terms, about === '' ? '<dd></dd>' : `<dd>\n\n${blocks}\n\n</dd>`].join('\n')
  }

  /** Readers may look in a class for a member that it inherits from another. */
  #inherited({ door, base: name = '' }: Placed): string {
    const base = this.#find(door, name)
    if (base === undefined || base.members.length === 0) return ''
    return `And what ${linkTo(base)} has: ${base.members.map(member => `\`${member.name}\``).join(', ')}.\n`
  }

  /** Resolves a name from an import path: prefers an export of the same path, if there is one. */
  #find(door: string, name: string): Placed | undefined {
    const found = this.#exports.filter(each => each.name === name)
    return found.find(each => each.door === door) ?? found[0]
  }

  /** Turns the names of exports into links. */
  #code(exported: Placed, signature: string): string {
    return escapeHtml(shortened(signature)).replaceAll(/\b[A-Z]\w*\b/g, name => {
      if (this.#codes.has(name)) return `<a href="../errors.html#${name.toLowerCase()}">${name}</a>`
      const found = name === exported.name ? undefined : this.#find(exported.door, name)
      return found === undefined ? name : `<a href="#${found.id}">${name}</a>`
    })
  }

  /** Markdown: error codes link to their descriptions, unless they are in code. */
  #prose(about: string): string {
    const parts = about.split(/(`[^`]*`)/)
    return parts.map(part => (part.startsWith('`') ? part : this.#outsideCode(part))).join('')
  }

  #outsideCode(text: string): string {
    return text
      .replaceAll('<', '&lt;')
      .replaceAll(/\bdocs\/((?:[\w-]+\/)*[\w-]+\.md)/g, '[docs/$1](../$1)')
      .replaceAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g, code =>
        this.#codes.has(code) ? `[${code}](../errors.md#${code.toLowerCase()})` : code,
      )
  }
}
