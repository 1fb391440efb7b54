/** No reminder stays in the tree: the work is done, or becomes an issue, before the change goes in. */

import { scanSource } from '@freshet/lab/dist/source-tree/scan-source.js'
import { isCode, type SourceFile } from '@freshet/lab/dist/source-tree/source-file.js'
import { type Finding, findEach } from '../rule.js'

const REMINDER = /\b(?:TODO|FIXME|XXX)\b/g

export function leftovers(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(file => !/\.(?:json|svg)$/.test(file.path))
    .flatMap(file =>
      findEach(
        file,
        // In code only comments count: a string may well be about reminders.
        isCode(file.path) ? scanSource(file.text).comments : file.text,
        REMINDER,
        match => `${match[0]} is left over. Do it now, or open an issue and delete the note.`,
      ),
    )
}
