/** One version for all packages, and exact dependencies among them. */
import { DEPENDENCY_FIELDS, type Manifest, type Workspace } from './package-manifest.js'

const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?$/

/** `step`: major, minor, patch, or the version itself. Throws RangeError. */
export function nextVersion(current: string, step: string): string {
  if (VERSION.test(step)) return step
  const [major, minor, patch] = VERSION.exec(current)!.slice(1, 4).map(Number) as [number, number, number]
  if (step === 'major') return `${major + 1}.0.0`
  if (step === 'minor') return `${major}.${minor + 1}.0`
  if (step === 'patch') return `${major}.${minor}.${patch + 1}`
  throw new RangeError(`'${step}' is not a version. Give major, minor, patch, or a version such as 1.2.3.`)
}

/** What is wrong: a package of another version than the root, or a dependency on another version of one. */
export function versionProblems(workspaces: readonly Workspace[]): readonly string[] {
  const { version } = workspaces[0]!.manifest
  const own = new Set(workspaces.map(({ manifest }) => manifest.name))
  return workspaces.flatMap(({ folder, manifest }) => {
    const path = folder === '' ? 'package.json' : `${folder}/package.json`
    const wrong = manifest.version === version ? [] : [`${path}: the version is ${manifest.version}, not ${version}.`]
    const dependencies = DEPENDENCY_FIELDS.flatMap(field => Object.entries(manifest[field] ?? {}))
    const loose = dependencies.filter(([name, wanted]) => own.has(name) && wanted !== version)
    return [...wrong, ...loose.map(([name, wanted]) => `${path}: asks for ${name} ${wanted}, not ${version}.`)]
  })
}

/** The text of a package.json with `version`, also of the packages in `own` that it asks for. Nothing else changes. */
export function withVersion(text: string, version: string, own: ReadonlySet<string>): string {
  return `${JSON.stringify(raised(JSON.parse(text) as Manifest, version, own), undefined, 2)}\n`
}

/** The same for package-lock.json, which repeats the package.json of each workspace. */
export function lockWithVersion(text: string, version: string, own: ReadonlySet<string>): string {
  const lock = JSON.parse(text) as { readonly packages: Readonly<Record<string, Manifest>> }
  const packages = Object.entries(lock.packages).map(([path, each]) =>
    path.startsWith('node_modules/') || path.includes('/node_modules/')
      ? [path, each]
      : [path, raised(each, version, own)],
  )
  return `${JSON.stringify({ ...lock, version, packages: Object.fromEntries(packages) }, undefined, 2)}\n`
}

function raised(manifest: Manifest, version: string, own: ReadonlySet<string>): Manifest {
  const fields = DEPENDENCY_FIELDS.filter(field => manifest[field] !== undefined).map(field => {
    const entries = Object.entries(manifest[field]!).map(([name, wanted]) => [name, own.has(name) ? version : wanted])
    return [field, Object.fromEntries(entries)]
  })
  return { ...manifest, version, ...Object.fromEntries(fields) }
}
