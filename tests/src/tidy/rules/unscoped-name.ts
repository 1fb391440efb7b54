/**
 * The name `freshet` in npm's registry is not ours. In a clone, npx finds the command of the workspace under that name; anywhere else
 * it would run a stranger's program. So a paragraph with such a line says that it is about a clone.
 */
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

const RUN = '(?:npx|bunx|npm exec|pnpm dlx|pnpm exec|yarn dlx|npm (?:install|i|add|init|create))'
const UNSCOPED = new RegExp(`\\b${RUN}(?: -[\\w-]*)* freshet\\b(?![\\w/-])`, 'g')

export function unscopedName(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ path }) => !path.startsWith('tests/src/tidy/'))
    .flatMap(file => findEach(file, withoutClones(file.text), UNSCOPED, ([line]) => `'${line}' ${WHAT_TO_WRITE}`))
}

const WHAT_TO_WRITE =
  'runs a package that is not ours. Write npx @freshet/cli, or npm create @freshet for a new app; if it is for a ' +
  'clone, say so in the same paragraph.'

/** Blanks paragraphs about a clone, as long as before, so that lines stay where they are. */
function withoutClones(text: string): string {
  const paragraphs = text.split(/(\n\s*\n)/)
  return paragraphs.map(each => (/\bclone\b/i.test(each) ? each.replace(/[^\n]/g, ' ') : each)).join('')
}
