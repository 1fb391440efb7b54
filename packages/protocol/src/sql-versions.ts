/** The versions of the tables that a result depends on, as an ETag: `"employees.3+salaries.12"`. */
import type { SqlVersions } from './messages.js'

/** Sorted by name, so that the same versions always give the same tag. Without commas, at which lists of tags are split. */
export function versionsTag(versions: SqlVersions): string {
  const names = Object.keys(versions).sort()
  return `"${names.map(name => `${encodeURIComponent(name)}.${versions[name]}`).join('+')}"`
}
