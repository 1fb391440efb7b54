/** The package.json files of this repository: the root's, those of the published packages, and those of lab, site and tests. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const DEPENDENCY_FIELDS = [
  'dependencies',
  'devDependencies',
  'peerDependencies',
  'optionalDependencies',
] as const

export interface Manifest
  extends Partial<Record<(typeof DEPENDENCY_FIELDS)[number], Readonly<Record<string, string>>>> {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly homepage?: string
  readonly bugs?: { readonly url: string }
  readonly repository?: Repository
  readonly license?: string
  readonly exports?: unknown
  readonly bin?: unknown
}

export interface Repository {
  readonly type: string
  readonly url: string
  readonly directory?: string
}

export interface Workspace {
  /** From the root of the repository; '' is the root itself. */
  readonly folder: string
  readonly manifest: Manifest
}

/** The root comes first. */
export function readWorkspaces(root: string): readonly Workspace[] {
  const packages = readdirSync(join(root, 'packages')).map(name => `packages/${name}`)
  return ['', ...packages, 'lab', 'site', 'tests'].map(folder => ({
    folder,
    manifest: JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest,
  }))
}

/** Every folder of packages/ is published. */
export function isPublished({ folder }: Workspace): boolean {
  return folder.startsWith('packages/')
}

/** The published ones, each after those that it needs: so that what has been published at any moment can be installed. */
export function inPublishingOrder(workspaces: readonly Workspace[]): readonly Workspace[] {
  const byName = new Map(workspaces.filter(isPublished).map(each => [each.manifest.name, each]))
  const ordered = new Set<Workspace>()
  const add = (each: Workspace | undefined) => {
    if (each === undefined || ordered.has(each)) return
    for (const name of Object.keys(each.manifest.dependencies ?? {})) add(byName.get(name))
    ordered.add(each)
  }
  for (const each of byName.values()) add(each)
  return [...ordered]
}
