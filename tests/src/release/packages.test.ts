/** The packages as npm would publish them: what is in them, what their package.json says, and the release that would publish them. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkPackage, Package } from '@arethetypeswrong/core'
import { beforeAll, describe, expect, test } from 'vitest'
import { isPublished, readWorkspaces } from './package-manifest.js'
import { type Checkout, packageProblems, staleFiles } from './package-problems.js'
import { type PackedPackage, readPacked } from './packed-packages.js'
import { sharedFields } from './shared-fields.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const workspaces = readWorkspaces(root)
const published = workspaces.filter(isPublished)
const checkout: Checkout = {
  root: workspaces[0]!.manifest,
  license: readFileSync(join(root, 'LICENSE'), 'utf8'),
  hasPath: path => existsSync(join(root, path)),
}

let packed: ReadonlyMap<string, PackedPackage>

beforeAll(async () => {
  const read = await readPacked(
    root,
    published.map(({ folder }) => folder),
  )
  packed = new Map(read.map(each => [each.folder, each]))
})

test('the dry run of a release finds nothing wrong, and changes nothing', () => {
  const before = readFileSync(join(root, 'package.json'), 'utf8')
  const program = fileURLToPath(new URL('../../dist/release/release.js', import.meta.url))
  const printed = execFileSync(process.execPath, [program, 'minor', '--dry-run'], { encoding: 'utf8' })
  expect(printed).toMatch(new RegExp(`^Release \\d+\\.\\d+\\.0 of ${published.length} packages`))
  expect(printed).toContain('nothing was changed')
  expect(readFileSync(join(root, 'package.json'), 'utf8')).toBe(before)
})

test("the root's own addresses follow from its repository.url", () => {
  expect(checkout.root).toMatchObject(sharedFields(checkout.root, ''))
})

test.each(published)('$manifest.name: programs in TypeScript find its types, under ESM and in bundlers', async each => {
  const { manifest, files } = packed.get(each.folder)!
  if (manifest.exports === undefined) return expect(manifest.bin).toBeDefined()
  expect(await typeProblems(manifest.name, manifest.version, files)).toEqual([])
})

test('a package whose types are missing is found', async () => {
  const { manifest, files } = packed.get('packages/dht')!
  const without = new Map([...files].filter(([path]) => path !== 'dist/index.d.ts'))
  expect(await typeProblems(manifest.name, manifest.version, without)).toContain('UntypedResolution')
})

/** What attw finds; packages are ESM only, so old resolution and `require` are left out. */
async function typeProblems(name: string, version: string, files: ReadonlyMap<string, Buffer>): Promise<string[]> {
  const byPath = Object.fromEntries([...files].map(([path, data]) => [`/node_modules/${name}/${path}`, data]))
  const result = await checkPackage(new Package(byPath, name, version))
  if (result.types === false) return ['no types']
  return result.problems
    .filter(problem => !('resolutionKind' in problem) || /^(?:node16-esm|bundler)$/.test(problem.resolutionKind))
    .filter(problem => !('resolutionOption' in problem) || problem.resolutionOption !== 'node10')
    .map(({ kind }) => kind)
}

describe('a package is refused', () => {
  const README = 'README.md'
  /** The package dht with one thing wrong. */
  async function problemsWith(change: {
    readonly files?: Readonly<Record<string, string | undefined>>
    readonly manifest?: Readonly<Record<string, unknown>>
  }): Promise<string> {
    const right = packed.get('packages/dht')!
    const manifest = { ...right.manifest, ...change.manifest }
    const files = new Map([...right.files, ['package.json', Buffer.from(JSON.stringify(manifest))]])
    for (const [path, text] of Object.entries(change.files ?? {})) {
      if (text === undefined) files.delete(path)
      else files.set(path, Buffer.from(text))
    }
    return (await packageProblems({ ...right, manifest, files }, checkout)).join('\n')
  }

  test.each([
    ['that has no license', { files: { LICENSE: undefined } }, "LICENSE is not the root's"],
    ['that has no README', { files: { [README]: undefined } }, 'README.md is missing'],
    ['whose README links out of it', { files: { [README]: '[a](../../docs/guides/ring.md)' } }, 'not in the package'],
    ['whose license is another', { files: { LICENSE: 'none' } }, '--sync'],
    ['of another repository', { manifest: { homepage: 'https://example.org' } }, 'homepage in package.json'],
    ['without keywords', { manifest: { keywords: [] } }, 'no keywords'],
    ['with a test', { files: { 'dist/a.test.js': '' } }, 'dist/a.test.js is packed'],
    ['with a door to nothing', { files: { 'dist/index.js': undefined } }, 'publint'],
    ['that names a map', { files: { 'dist/a.js': '//# sourceMappingURL=a.js.map' } }, 'a source map'],
  ])('%s', async (_, change, problem) => {
    expect(await problemsWith(change)).toContain(problem)
  })

  test('whose README links to a file of the repository that does not exist', async () => {
    const [address] = checkout.root.homepage!.split('#')
    const link = (path: string) => `[a](${address}/blob/main/${path}#there)`
    expect(await problemsWith({ files: { [README]: link('docs/none.md') } })).toContain('there is no docs/none.md')
    expect(await problemsWith({ files: { [README]: link('docs/guides/ring.md') } })).toBe('')
  })

  test('when it is released with a built file whose source is gone', () => {
    const each = packed.get('packages/dht')!
    const files = new Map([...each.files, ['dist/gone.js', Buffer.from('')]])
    expect(staleFiles({ ...each, files }, path => existsSync(join(root, path)))).toEqual([
      expect.stringContaining('dist/gone.js has no source'),
    ])
  })
})
