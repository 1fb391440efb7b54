/** The generated pages of the site: everything that a program can use is listed, and all of it has an explanation. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as client from '@freshet/client'
import * as entities from '@freshet/client/entities'
import * as sql from '@freshet/shards/client'
import { buildSite } from '@freshet/site/dist/build-site.js'
import { clientDoors } from '@freshet/site/dist/client-doors.js'
import { clientReference, undocumented, withoutExample } from '@freshet/site/dist/client-reference.js'
import { type Door, readExports } from '@freshet/site/dist/read-exports.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { repository } from './doc-blocks.js'

let folder: string
let site: string
let doors: readonly Door[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-reference-'))
  site = join(folder, 'site')
  doors = clientDoors(join(repository, 'packages'))
  await buildSite(repository, site)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (path: string) => readFileSync(join(site, path), 'utf8')

function namesOf(door: string): readonly string[] {
  return doors.find(({ name }) => name === door)!.exports.map(({ name }) => name)
}

describe('the page of the client', () => {
  test('has every export of each import path', () => {
    const index = readFileSync(join(repository, 'packages/client/src/index.ts'), 'utf8')
    const written = [...index.replaceAll(/\bfrom '.*'|\b(export|type)\b/g, '').matchAll(/\w+/g)].map(([name]) => name)
    expect([...namesOf('@freshet/client')].sort()).toEqual(written.sort())
    const exports = { client, 'client/entities': entities, 'shards/client': sql }
    for (const [door, exported] of Object.entries(exports)) {
      expect(namesOf(`@freshet/${door}`)).toEqual(expect.arrayContaining(Object.keys(exported)))
    }
    const page = read('reference/client.html')
    for (const { exports } of doors)
      for (const { name } of exports) expect(page).toMatch(new RegExp(`<h3 id=.*>${name} <`))
  })

  test('explains each export and each method', () => {
    expect(undocumented(doors)).toEqual([])
    expect(withoutExample(doors.filter(({ name }) => name.startsWith('@freshet/client')))).toEqual([])
    const page = read('reference/client.html')
    expect(page).toContain('<code>getMany(ids: readonly string[], options?: <a href="#readoptions">ReadOptions</a>)')
    expect(page).toContain('undefined for missing ones.')
    const text = page.replaceAll(/<[^>]*>/g, '').replaceAll(/&(?:#39|#x27|apos);/g, "'")
    expect(text).toContain("const [tea, jug] = await db.bucket('shop/products').getMany(['tea', 'jug'])")
    expect(page).not.toMatch(/readonly parts|#close|protected |DatabaseParts/)
  })

  test('is not generated while a doc comment is missing', () => {
    const planted = plantPackage({
      'index.ts': "export { said, unsaid, type Thing } from './things.js'\nexport type { Other } from './things.js'\n",
      'things.ts': `/** Says it. */
export function said(): void {}
export function unsaid(by = 1): number { return by }
/** A thing. */
export class Thing {
  readonly #hidden: number = 1
  /** What it is. */
  get size(): number { return this.#hidden }
  grow(by: number): void {}
}
export interface Other { readonly a: string }
`,
    })
    const found = readExports(planted, 'client')
    expect(undocumented(found)).toEqual(['unsaid', 'Thing.grow', 'Other', 'Other.a'])
    expect(() => clientReference(found, new Set())).toThrow(
      'Add doc comments in the code for unsaid, Thing.grow, Other, Other.a.',
    )
  })

  test('is not generated while a function, an overload or a method has no example', () => {
    const planted = plantPackage({
      'index.ts': "export { shown, twice, unshown, Thing, type Kept } from './things.js'\n",
      'things.ts': `/**
 * Shown.
 * @example
 * shown()
 */
export function shown(): void {}
/**
 * By number.
 * @example
 * twice(1)
 */
export function twice(by: number): void
/** By text. */
export function twice(by: string): void
export function twice(by: unknown): void { void by }
/** Not shown. */
export function unshown(): void {}
/** A thing. */
export class Thing {
  /** Its size. */
  readonly size: number = 1
  /** Grows. */
  grow(): void {}
  /** For the package alone. @internal */
  hidden(): void {}
}
/**
 * What programs implement.
 * @example
 * const kept: Kept = { keep: () => undefined }
 */
export interface Kept {
  /** Keeps it. */
  keep(): void
}
`,
    })
    const found = readExports(planted, 'client')
    expect(withoutExample(found)).toEqual(['twice', 'unshown', 'Thing.grow'])
    expect(() => clientReference(found, new Set())).toThrow(
      'Add an @example to the doc comments of twice, unshown, Thing.grow.',
    )
  })
})

test('the HTTP page has every route with its parameters and answers', () => {
  const page = read('reference/routes.html')
  expect(page).toContain('<code>PATCH /db/{namespace}/{bucket}/{id}</code>')
  expect(page).toContain('<code>Idempotency-Key <small>as a header</small></code>')
  expect(page).toContain('<code>writes: (')
  expect(page).not.toContain('undefined')
})

test.each(['client', 'routes'])('no link within the page reference/%s is broken', name => {
  const page = read(`reference/${name}.html`)
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
  expect(links.length).toBeGreaterThan(100)
  expect(links.filter(id => !ids.has(id))).toEqual([])
})

/** Returns the folder of packages that contains it. */
function plantPackage(files: Readonly<Record<string, string>>): string {
  const packages = join(folder, 'planted')
  const source = join(packages, 'client/src')
  mkdirSync(source, { recursive: true })
  cpSync(join(repository, 'tsconfig.base.json'), join(folder, 'tsconfig.base.json'))
  writeFileSync(join(packages, 'client/tsconfig.json'), '{ "extends": "../../tsconfig.base.json", "include": ["src"] }')
  const manifest = { name: '@freshet/client', type: 'module', exports: { '.': { types: './dist/index.d.ts' } } }
  writeFileSync(join(packages, 'client/package.json'), JSON.stringify(manifest))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(source, name), text)
  return packages
}
