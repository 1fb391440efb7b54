/**
 * Constructions that make prose read like a translation, each with what to write instead. They are looked for in code as
 * well as in documents: comments, messages, help and test titles are read as often.
 *
 * Where one of them is right, its line stands in ALLOWED.
 */
import type { SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

interface Construction {
  readonly wrong: RegExp
  readonly instead: string
}

const CONSTRUCTIONS: Readonly<Record<string, Construction>> = {
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

/** By file, the words around what is right there. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The user that Debian gives to processes that may do nothing.
  'packages/engines/src/under-test/start-mariadb.ts': ["'nobody'"],
  'packages/engines/src/under-test/start-postgres.ts': ["'nobody'"],
}

/** Folders and files whose sentences are still to be mended. */
const NOT_YET: readonly string[] = []

export function plainEnglish(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(
      ({ path }) => /\.(?:tsx?|md|html|vcl|conf|cfg)$/.test(path) && !NOT_YET.some(start => path.startsWith(start)),
    )
    .filter(({ path }) => !path.startsWith('tests/src/tidy/'))
    .flatMap(file => constructionsIn(file))
}

function constructionsIn(file: SourceFile): Finding[] {
  const text = (ALLOWED[file.path] ?? []).reduce((rest, allowed) => rest.replaceAll(allowed, masked), file.text)
  return Object.values(CONSTRUCTIONS).flatMap(({ wrong, instead }) =>
    findEach(file, text, wrong, match => `"${match[0]}" reads like a translation. ${instead}`),
  )
}

/** As long as before, so that lines stay where they are. */
function masked(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}
