/**
 * Constructions that make prose read like a translation, each with what to write instead. Code is searched as well as
 * documents: comments, messages, help and test titles are read as often.
 */
import type { SourceFile } from './source-file.js'

interface Construction {
  readonly wrong: RegExp
  readonly instead: string
}

export const CONSTRUCTIONS: Readonly<Record<string, Construction>> = {
  nobody: { wrong: /\b(?:nobody|somebody)\b/gi, instead: 'Name the actor: the server, another client, a reader.' },
  whoever: { wrong: /\bwhoever\b|(?<=(?:^|[.:;*/("'`]) ?)Who [a-z]+(?=[^?\n]*\.)/g, instead: 'Name the actor.' },
  told: { wrong: /\btold\b/gi, instead: 'Write "returned", "reported", "sent", "given".' },
  so: { wrong: /\bso (?:many|much|long|few|often)\b/gi, instead: 'Name the number or the condition: "as long as".' },
  anew: { wrong: /\banew\b/gi, instead: 'Write "again", or "re-".' },
  none: {
    wrong: /\b(?:is|are|was|were|be|being) none\b/gi,
    instead: 'Write "is not a", "does not exist", "is missing".',
  },
  hangs: { wrong: /\bhang(?:s|ing)? on\b/gi, instead: 'Write "depends on".' },
  more: { wrong: /\bany more\b/gi, instead: 'Write "no longer".' },
  he: { wrong: /\b(?:he|him|his|himself)\b/gi, instead: 'Name the actor.' },
}

/** All but the tidy rules and this file, which must name the constructions. */
export function hasSentences({ path }: SourceFile): boolean {
  return /\.(?:tsx?|md|html|vcl|conf|cfg)$/.test(path) && !/^tests\/src\/tidy\/|\/constructions\.ts$/.test(path)
}

/** How often each construction occurs in the tree. */
export function countConstructions(tree: readonly SourceFile[]): Readonly<Record<string, number>> {
  const texts = tree.filter(hasSentences).map(({ text }) => text)
  const count = (wrong: RegExp) => texts.reduce((sum, text) => sum + [...text.matchAll(wrong)].length, 0)
  return Object.fromEntries(Object.entries(CONSTRUCTIONS).map(([name, { wrong }]) => [name, count(wrong)]))
}
