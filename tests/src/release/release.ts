/**
 * `npm run release -- STEP`: all packages get one version, the changelog a section, git a commit and a tag. Nothing leaves the machine
 * until the tag is pushed: then .github/workflows/release.yml runs `npm run release -- --publish`.
 *
 * STEP is major, minor, patch or a version. What is wrong is printed before anything is changed.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { unreleasedEntries, withRelease } from './changelog.js'
import { inPublishingOrder, isPublished, type Manifest, readWorkspaces, type Workspace } from './package-manifest.js'
import { type Checkout, packageProblems, staleFiles } from './package-problems.js'
import { type PackedPackage, readPacked } from './packed-packages.js'
import { repositoryAddress, sharedFields, withRepositoryLinks } from './shared-fields.js'
import { lockWithVersion, nextVersion, versionProblems, withVersion } from './versions.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const HELP = `npm run release -- STEP [--dry-run]   STEP: major, minor, patch, or a version such as 1.2.3

  npm run release -- minor --dry-run   checks, and changes nothing
  npm run release -- minor             one version for all packages, a section of CHANGELOG.md, a commit, a tag
  npm run release -- --publish         publishes the tagged version; leaves out what is published already
  npm run release -- --sync            writes the repository's address, as package.json has it, and LICENSE into all packages
`

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean' }, publish: { type: 'boolean' }, sync: { type: 'boolean' } },
  })
  const workspaces = readWorkspaces(root)
  if (values.sync) return sync(workspaces)
  if (values.publish) return publish(workspaces)
  const [step] = positionals
  if (step === undefined || positionals.length > 1) {
    console.error(HELP)
    return 2
  }
  return release(workspaces, nextVersion(workspaces[0]!.manifest.version, step), values['dry-run'] === true)
}

async function release(workspaces: readonly Workspace[], version: string, isDryRun: boolean): Promise<number> {
  const packed = await readPacked(root, foldersOf(workspaces))
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  const entries = unreleasedEntries(changelog)
  const problems = [
    ...(isDryRun ? [] : treeProblems(packed)),
    ...versionProblems(workspaces),
    ...(entries === undefined ? ['CHANGELOG.md has nothing under "Unreleased". Say what this release changes.'] : []),
    ...(await problemsOf(packed, workspaces)),
  ]
  if (problems.length > 0) return refuse(problems)
  const current = workspaces[0]!.manifest.version
  console.log(`Release ${version} of ${packed.length} packages; the version is ${current} now.\n`)
  console.log(packed.map(lineOf).join('\n'))
  console.log(`\nCHANGELOG.md: ${entries!.split('\n').length} lines.`)
  if (isDryRun) console.log('Dry run: nothing was changed.')
  else commit(workspaces, version, changelog)
  return 0
}

function commit(workspaces: readonly Workspace[], version: string, changelog: string): void {
  const own = new Set(workspaces.map(({ manifest }) => manifest.name))
  const manifests = workspaces.map(({ folder }) => join(folder, 'package.json'))
  for (const path of manifests) rewrite(path, text => withVersion(text, version, own))
  rewrite('package-lock.json', text => lockWithVersion(text, version, own))
  rewrite('CHANGELOG.md', () => withRelease(changelog, version, new Date().toISOString().slice(0, 10)))
  git('add', ...manifests, 'package-lock.json', 'CHANGELOG.md')
  git('commit', '--quiet', '--message', `release: ${version}`)
  git('tag', '--annotate', `v${version}`, '--message', `Release ${version}`)
  console.log(`\nCommitted and tagged v${version}. To publish: git push --follow-tags`)
}

async function publish(workspaces: readonly Workspace[]): Promise<number> {
  const { version } = workspaces[0]!.manifest
  const packed = await readPacked(root, foldersOf(workspaces))
  const isTagged = git('tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`)
  const problems = [
    ...(isTagged ? [] : [`This commit does not have the tag v${version}. Check out the tag.`]),
    ...treeProblems(packed),
    ...versionProblems(workspaces),
    ...(await problemsOf(packed, workspaces)),
  ]
  if (problems.length > 0) return refuse(problems)
  for (const { folder, manifest } of inPublishingOrder(workspaces)) {
    if (isInRegistry(manifest)) console.log(`${manifest.name} ${version} is published already.`)
    else execFileSync('npm', ['publish', '--workspace', folder], { cwd: root, stdio: 'inherit' })
  }
  return 0
}

function isInRegistry({ name, version }: Manifest): boolean {
  try {
    return npm('view', `${name}@${version}`, 'version') !== ''
  } catch (error) {
    if (`${(error as { stderr?: unknown }).stderr}`.includes('E404')) return false
    throw error
  }
}

function sync(workspaces: readonly Workspace[]): number {
  const { manifest } = workspaces[0]!
  const address = repositoryAddress(manifest)
  for (const workspace of workspaces.filter(({ folder }) => folder === '' || folder.startsWith('packages/'))) {
    const { folder } = workspace
    const before = repositoryAddress(workspace.manifest)
    rewrite(join(folder, 'package.json'), text => {
      return `${JSON.stringify({ ...JSON.parse(text), ...sharedFields(manifest, folder) }, undefined, 2)}\n`
    })
    if (folder === '') continue
    copyFileSync(join(root, 'LICENSE'), join(root, folder, 'LICENSE'))
    rewrite(join(folder, 'README.md'), text => withRepositoryLinks(text, folder, before, address))
  }
  return 0
}

function treeProblems(packed: readonly PackedPackage[]): readonly string[] {
  const isClean = git('status', '--porcelain') === ''
  const stale = packed.flatMap(each => staleFiles(each, path => existsSync(join(root, path))))
  return [...(isClean ? [] : ['There are changes that are not committed. Commit them first.']), ...stale]
}

async function problemsOf(
  packed: readonly PackedPackage[],
  workspaces: readonly Workspace[],
): Promise<readonly string[]> {
  const checkout: Checkout = {
    root: workspaces[0]!.manifest,
    license: readFileSync(join(root, 'LICENSE'), 'utf8'),
    hasPath: path => existsSync(join(root, path)),
  }
  return (await Promise.all(packed.map(each => packageProblems(each, checkout)))).flat()
}

function refuse(problems: readonly string[]): number {
  console.error(`Nothing was released:\n\n${problems.join('\n')}`)
  return 1
}

function foldersOf(workspaces: readonly Workspace[]): readonly string[] {
  return workspaces.filter(isPublished).map(({ folder }) => folder)
}

function lineOf({ manifest, files, sizeBytes }: PackedPackage): string {
  const kilobytes = `${Math.ceil(sizeBytes / 1000)}`
  return `  ${manifest.name.padEnd(18)} ${kilobytes.padStart(4)} kB  ${files.size} files`
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(join(root, path), change(readFileSync(join(root, path), 'utf8')))
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function npm(...args: readonly string[]): string {
  return execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}
