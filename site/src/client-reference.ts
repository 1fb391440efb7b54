/** The page of everything that `@freshet/client` exports, as Markdown with signatures in HTML: their types are links. */
import type { Door, Exported, Member } from './read-exports.js'
import { escapeHtml, uniqueId } from './render.js'

/** What stands together, by where it is declared. The first that fits. */
const TOPICS: readonly (readonly [title: string, files: RegExp])[] = [
  ['Connections and sessions', /^client\/src\/(connect|database|session\/|http\/)/],
  ['Objects and bytes', /^client\/src\/(buckets|reading|writing)\/|^core\//],
  ['Finding objects', /queries\//],
  ['Transactions', /^client\/src\/transactions\//],
  ['Counting', /^client\/src\/counters\//],
  ['Writes that outlive a page', /^client\/src\/operations\//],
  ['Recordings and clocks', /^client\/src\/(recording|clock)\//],
  ['Errors', /freshet-error\.ts$/],
  ['What servers take and answer', /^protocol\//],
]

const DOORS: Readonly<Record<string, string>> = {
  '@freshet/shards/client': 'SQL over shards: @freshet/shards/client',
  '@freshet/client/entities': 'Entities: @freshet/client/entities',
}

interface Placed extends Exported {
  readonly door: string
  /** Of the section that it stands in. */
  readonly title: string
  /** Of its heading. */
  readonly id: string
}

const TITLE = 'Client API'
const LINES_MAX = 30
const KINDS: readonly Exported['kind'][] = ['function', 'class', 'interface', 'type']

/** `codes`: of errors, each a heading of docs/errors.md. Throws if something has no doc comment. */
export function clientReference(doors: readonly Door[], codes: ReadonlySet<string>): string {
  const silent = undocumented(doors)
  if (silent.length > 0) throw new Error(`Write doc comments, in the code, for ${silent.join(', ')}.`)
  const sections = placed(doors)
  const page = new ClientPage([...sections.values()].flat(), codes)
  return [
    `# ${TITLE}`,
    '',
    'Everything that programs import from `@freshet/client`, from its code and the comments in it. [The client](../../packages/client/README.md) begins with',
    'examples; [queries](../queries.md), [transactions](../transactions.md), [entities](../entities.md) and [shards](../shards.md) have pages of their own.',
    '',
    ...[...sections].map(([title, exports]) => `- **${title}:** ${exports.map(linkTo).join(', ')}`),
    ...[...sections].map(([title, exports]) => `\n## ${title}\n\n${exports.map(each => page.entry(each)).join('\n')}`),
  ].join('\n')
}

/** Exports that do not say what they are, and members of classes that do not say what they do. A constructor is said by its class. */
export function undocumented(doors: readonly Door[]): readonly string[] {
  return doors.flatMap(({ exports }) =>
    exports.flatMap(({ name, kind, about, members }) => [
      ...(about === '' ? [name] : []),
      ...(kind === 'class' ? members : [])
        .filter(member => member.about === '' && member.name !== 'new')
        .map(member => `${name}.${member.name}`),
    ]),
  )
}

/** By section, with the ids that the headings will have. */
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
  if (title === undefined) throw new Error(`Say in client-reference.ts where ${name} of ${door} is to stand.`)
  return title
}

function byKindAndName(a: Exported, b: Exported): number {
  return KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1)
}

function linkTo({ name, id }: Placed): string {
  return `[${name}](#${id})`
}

/** What would fill a screen goes into a paragraph. */
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
      `<pre class="signature"><code>${exported.signatures.map(text => this.#code(exported, text)).join('\n')}</code></pre>\n`,
      ...(members.length === 0 ? [] : ['<dl class="members">', ...members, '</dl>\n']),
      this.#inherited(exported),
    ].join('\n')
  }

  #member(exported: Placed, { signatures, about }: Member): string {
    const terms = signatures.map(signature => `<dt><code>${this.#code(exported, signature)}</code></dt>`)
    return [...terms, about === '' ? '<dd></dd>' : `<dd>\n\n${this.#prose(about)}\n\n</dd>`].join('\n')
  }

  /** What somebody looks for in a class may be in the one that it extends. */
  #inherited({ door, base: name = '' }: Placed): string {
    const base = this.#find(door, name)
    if (base === undefined || base.members.length === 0) return ''
    return `And what ${linkTo(base)} has: ${base.members.map(member => `\`${member.name}\``).join(', ')}.\n`
  }

  /** As seen from a door: what is behind the same one, if there is such a thing. */
  #find(door: string, name: string): Placed | undefined {
    const found = this.#exports.filter(each => each.name === name)
    return found.find(each => each.door === door) ?? found[0]
  }

  /** Names of what is exported lead to it. */
  #code(exported: Placed, signature: string): string {
    return escapeHtml(shortened(signature)).replaceAll(/\b[A-Z]\w*\b/g, name => {
      if (this.#codes.has(name)) return `<a href="../errors.html#${name.toLowerCase()}">${name}</a>`
      const found = name === exported.name ? undefined : this.#find(exported.door, name)
      return found === undefined ? name : `<a href="#${found.id}">${name}</a>`
    })
  }

  /** Markdown: codes of errors lead to what is said of them, unless they stand in code. */
  #prose(about: string): string {
    const parts = about.split(/(`[^`]*`)/)
    return parts.map(part => (part.startsWith('`') ? part : this.#outsideCode(part))).join('')
  }

  #outsideCode(text: string): string {
    return text
      .replaceAll('<', '&lt;')
      .replaceAll(/\bdocs\/([\w-]+\.md)/g, '[docs/$1](../$1)')
      .replaceAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g, code =>
        this.#codes.has(code) ? `[${code}](../errors.md#${code.toLowerCase()})` : code,
      )
  }
}
