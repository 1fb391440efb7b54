/** The versions of the tables that a result depends on, as an ETag: `"employees.3+salaries.12"`. */
import type { SqlVersions } from './messages.js'

/** By name, so that the same versions are always the same tag. Without commas, which lists of tags are split at. */
export function versionsTag(versions: SqlVersions): string {
  const names = Object.keys(versions).sort()
  return `"${names.map(name => `${encodeURIComponent(name)}.${versions[name]}`).join('+')}"`
}
