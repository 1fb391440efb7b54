/** Finds the code blocks of the documentation: their places and languages. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const repository: string = fileURLToPath(new URL('../../..', import.meta.url))

export interface DocBlock {
  /** Such as `docs/guides/queries.md`. */
  readonly page: string
  /** Counted from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
}

export function listDocs(): readonly string[] {
  const names = readdirSync(`${repository}docs`, { recursive: true, encoding: 'utf8' })
  const pages = names.filter(name => name.endsWith('.md') && !name.startsWith('decisions'))
  return [...pages.map(name => `docs/${name}`).sort(), 'deploy/README.md']
}

export function blocksOf(page: string): readonly DocBlock[] {
  const blocks: DocBlock[] = []
  let open: { line: number; language: string; lines: string[] } | undefined
  readFileSync(repository + page, 'utf8')
    .split('\n')
    .forEach((line, i) => {
      if (!line.startsWith('```')) open?.lines.push(line)
      else if (open === undefined) open = { line: i + 1, language: line.slice(3).trim(), lines: [] }
      else {
        blocks.push({ page, line: open.line, language: open.language, text: `${open.lines.join('\n')}\n` })
        open = undefined
      }
    })
  return blocks
}
