/** CHANGELOG.md: entries are gathered under "Unreleased", and a release gives them its version and date. */

const UNRELEASED = /^## Unreleased\n([\s\S]*?)(?=^## |(?![\s\S]))/m

/** The entries of the next release; undefined if there is no entry. */
export function unreleasedEntries(changelog: string): string | undefined {
  const entries = UNRELEASED.exec(changelog)?.[1]?.trim()
  return entries !== undefined && /^- \S/m.test(entries) ? entries : undefined
}

/** `date`: 2027-01-31. */
export function withRelease(changelog: string, version: string, date: string): string {
  return changelog.replace(/^## Unreleased\n/m, () => `## Unreleased\n\n## ${version}, ${date}\n`)
}
