/** The home page, as Markdown: the beginning of README.md, its commands, and the list of all pages. */
import { marked, type Token, type Tokens } from 'marked'
import { type PageGroup, type PageTopic, type SitePage, sourceOf } from './pages.js'

/** Throws if README.md does not begin as expected. */
export function homePage(readme: string, groups: readonly PageGroup[]): string {
  const tokens = marked.lexer(readme)
  const [start = [], ...sections] = splitAt(tokens, 2)
  const commands = sections.find(([heading]) => heading !== undefined && isHeading(heading, 2, 'Try it'))
  const [lead, description, ...more] = start.filter(isText)
  const picture = start.find(isPicture)
  const code = start.find(({ type }) => type === 'code')
  const title = start.find(token => isHeading(token, 1))
  if (!title || !lead || !description || !picture || !code || !commands) throw new Error(WRONG_README)
  return [
    block('hero', [title.raw, lead.raw, description.raw]),
    picture.raw,
    ...more.map(({ raw }) => raw),
    block('begin', [
      code.raw,
      block(
        'commands',
        commands.filter(token => !isPicture(token)).map(({ raw }) => raw),
      ),
    ]),
    '## Where to go next',
    block('cards', groups.map(card)),
  ].join('\n\n')
}

const WRONG_README =
  'The home page of the site is made from README.md. Before its first section it must have a title, two paragraphs, a picture ' +
  'and a block of code, and it must have a section "Try it".'

/** The first run has what is before the first heading of this depth. */
function splitAt(tokens: readonly Token[], depth: number): readonly (readonly Token[])[] {
  const runs: Token[][] = [[]]
  for (const token of tokens) {
    if (isHeading(token, depth)) runs.push([])
    runs.at(-1)!.push(token)
  }
  return runs
}

function isHeading(token: Token, depth: number, text?: string): boolean {
  if (token.type !== 'heading') return false
  const heading = token as Tokens.Heading
  return heading.depth === depth && (text === undefined || heading.text === text)
}

function isPicture(token: Token): boolean {
  return token.type === 'paragraph' && (token as Tokens.Paragraph).tokens[0]?.type === 'image'
}

function isText(token: Token): boolean {
  return token.type === 'paragraph' && !isPicture(token)
}

function card({ title, about, topics, isLong }: PageGroup): string {
  const lists = topics.map(listOf)
  const pages = isLong ? [folded(topics.flatMap(topic => topic.pages).length, lists)] : lists
  return block('card', [block('about', [`### ${title}`, about]), block('topics', pages)])
}

function listOf({ title, pages }: PageTopic): string {
  const list = pages.map(page => `- ${linkTo(page)}`).join('\n')
  return title === undefined ? list : block('topic', [`**${title}**`, list])
}

function folded(count: number, lists: readonly string[]): string {
  return `<details>\n<summary>All ${count}</summary>\n\n${lists.join('\n\n')}\n\n</details>`
}

function linkTo(page: SitePage): string {
  return `[${page.title}](${sourceOf(page)})`
}

/** The blank lines make Markdown of what is between the tags. */
function block(name: string, contents: readonly string[]): string {
  return `<div class="${name}">\n\n${contents.map(text => text.trim()).join('\n\n')}\n\n</div>`
}
