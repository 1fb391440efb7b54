import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inPublishingOrder, isPublished, readWorkspaces } from './package-manifest.js'
import { lockWithVersion, nextVersion, versionProblems, withVersion } from './versions.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const workspaces = readWorkspaces(root)
const own = new Set(workspaces.map(({ manifest }) => manifest.name))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('the next version is one step up, or the one given', () => {
  const steps = ['major', 'minor', 'patch', '2.0.0-rc.1']
  expect(steps.map(step => nextVersion('0.1.7', step))).toEqual(['1.0.0', '0.2.0', '0.1.8', '2.0.0-rc.1'])
  expect(() => nextVersion('0.1.7', 'big')).toThrow(RangeError)
})

test('all packages of this repository have one version, and ask each other for exactly it', () => {
  expect(versionProblems(workspaces)).toEqual([])
})

test('a package of another version, or one that asks for another, is found', () => {
  const [first, ...rest] = workspaces
  const loose = { folder: 'packages/new', manifest: { name: '@freshet/new', version: '0.0.1' } }
  const range = {
    folder: 'packages/range',
    manifest: { name: 'range', version: first!.manifest.version, devDependencies: { '@freshet/core': '^0.1.0' } },
  }
  expect(versionProblems([first!, ...rest, loose, range])).toEqual([
    expect.stringContaining('packages/new/package.json: the version is 0.0.1'),
    expect.stringContaining('packages/range/package.json: asks for @freshet/core ^0.1.0'),
  ])
})

test('a release changes the versions in every package.json and the lock file, and nothing else', () => {
  const [version, raised] = [workspaces[0]!.manifest.version, '97.98.99']
  for (const { folder } of workspaces) {
    const before = read(join(folder, 'package.json'))
    const after = withVersion(before, raised, own)
    expect(after).not.toBe(before)
    expect(after).not.toContain(`"version": "${version}"`)
    expect(withVersion(after, version, own)).toBe(before)
  }
  const lock = read('package-lock.json')
  const after = lockWithVersion(lock, raised, own)
  expect(after.match(/97\.98\.99/g)!.length).toBeGreaterThan(workspaces.length)
  expect(lockWithVersion(after, version, own)).toBe(lock)
})

test('a package is published after those that it needs', () => {
  const names = inPublishingOrder(workspaces).map(({ manifest }) => manifest.name)
  expect(names).toHaveLength(workspaces.filter(isPublished).length)
  for (const { manifest } of workspaces.filter(isPublished)) {
    const needed = Object.keys(manifest.dependencies ?? {}).filter(name => own.has(name))
    for (const name of needed) expect(names.indexOf(name)).toBeLessThan(names.indexOf(manifest.name))
  }
})
