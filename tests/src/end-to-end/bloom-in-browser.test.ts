/** Node and a browser must agree on every bit: a key that one has added to a filter, the other finds in it. */
import { gzipSync } from 'node:zlib'
import { createBloom, decodeBloom, encodeBloom, type Key, keyIndexes } from '@freshet/bloom'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeInChromium, useChromium } from './chromium.js'
import { type ServedPage, servePage } from './served-page.js'

/**
 * A key as it travels to the browser: as JSON, which escapes lone surrogates and so preserves them. Bytes start at `offset` of a
 * larger buffer.
 */
type KeyRecipe = { readonly text: string } | { readonly bytes: readonly number[]; readonly offset: number }

const ALL_BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const RECIPES: readonly KeyRecipe[] = [
  ...[
    '',
    'a',
    'abc',
    'abcd',
    '/db/shop/products/1',
    '/db/shop/products/0b7e2a5c-95cf-4f1e-8e3c-5d1a8c4f2b90',
    'x'.repeat(23),
    'x'.repeat(24),
    'x'.repeat(1365),
    'x'.repeat(1366),
    'x'.repeat(4095),
    'x'.repeat(4096),
    'x'.repeat(4097),
    'x'.repeat(10_000),
    'Crème brûlée ÿ',
    'é'.repeat(5000),
    'κλειδί της βάσης',
    '数据库里的键',
    '鍵'.repeat(3334),
    '🗝️ 👩‍👩‍👧‍👦',
    '🗝'.repeat(2500),
    '\u0000\u007f\u0080\u07ff\u0800\uffff',
    '\ud83d',
    '\udddd',
    'before \ud83d after, longer than two dozen characters',
    '\udddd\ud83d swapped',
    `${'x'.repeat(9999)}\ud83d`,
  ].map(text => ({ text })),
  { bytes: [], offset: 0 },
  ...[0, 1, 2, 3].map(offset => ({ bytes: ALL_BYTES, offset })),
  ...[1, 2, 3, 4, 5].map(length => ({ bytes: ALL_BYTES.slice(250, 250 + length), offset: 1 })),
  { bytes: Array.from({ length: 10_001 }, (_, i) => (i * 31) & 255), offset: 3 },
]

const SIZES = [
  { bits: 1, hashes: 1, seed: '0' },
  { bits: 1024, hashes: 7, seed: '0' },
  { bits: 1_000_003, hashes: 5, seed: '18446744073709551615' },
  { bits: 4_294_967_296, hashes: 64, seed: '81985529216486895' },
]

const RANDOM_KEYS = 20_000

function prepare(recipe: KeyRecipe): Key {
  if ('text' in recipe) return recipe.text
  const buffer = new Uint8Array(recipe.offset + recipe.bytes.length)
  buffer.set(recipe.bytes, recipe.offset)
  return buffer.subarray(recipe.offset)
}

/** Strings of any UTF-16 units, including lone surrogates, and bytes; from a fixed seed (Knuth's MMIX generator). */
function randomRecipes(count: number): KeyRecipe[] {
  let state = 20121101n
  const below = (limit: number) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n)
    return Number(state >> 33n) % limit
  }
  const unitLimits = [0x80, 0x100, 0x3000, 0x10000]
  return Array.from({ length: count }, (): KeyRecipe => {
    const length = below(64)
    if (below(5) === 0) return { bytes: Array.from({ length }, () => below(256)), offset: below(4) }
    const limit = unitLimits[below(unitLimits.length)]!
    return { text: String.fromCharCode(...Array.from({ length }, () => below(limit))) }
  })
}

type Library = typeof import('@freshet/bloom')
/** Globals of the page below, so that functions sent to it can use the library without importing it. */
declare global {
  var bloomLibrary: Library
  var prepareKeys: (recipesJson: string) => Key[]
}

describeInChromium('the library in Chromium', () => {
  let served: ServedPage
  const chromium = useChromium()
  let page: Page

  beforeAll(async () => {
    served = await servePage()
    page = await chromium.browser.newPage()
    await page.goto(served.url)
    await page.addScriptTag({
      type: 'module',
      content: `import * as library from '/bloom/index.js'
        globalThis.prepareKeys = json => JSON.parse(json).map(${prepare})
        globalThis.bloomLibrary = library`,
    })
    await page.waitForFunction(() => 'bloomLibrary' in globalThis)
  })

  afterAll(async () => {
    await served?.stop()
  })

  test.each(SIZES)('keys have the same bits as in Node ($bits bits, $hashes hashes, seed $seed)', async size => {
    const inBrowser = await page.evaluate(
      ([recipes, { bits, hashes, seed }]) =>
        prepareKeys(recipes).map(key => [...bloomLibrary.keyIndexes(key, { bits, hashes, seed: BigInt(seed) })]),
      [JSON.stringify(RECIPES), size] as const,
    )
    const inNode = RECIPES.map(prepare).map(key => [...keyIndexes(key, { ...size, seed: BigInt(size.seed) })])
    expect(inBrowser).toEqual(inNode)
  })

  test('a filter filled in Node has every key in the browser', async () => {
    const bloom = createBloom({ entriesMax: 100, falsePositiveRateMax: 0.0001, seed: 7n })
    bloom.addAll(RECIPES.map(prepare))
    const known = await page.evaluate(
      ([recipes, bytes]) => {
        const carried = bloomLibrary.decodeBloom(Uint8Array.from(bytes))
        return prepareKeys(recipes).map(key => carried.has(key))
      },
      [JSON.stringify(RECIPES), [...encodeBloom(bloom)]] as const,
    )
    expect(known).toEqual(RECIPES.map(() => true))
  })

  test('a filter filled in the browser has every key in Node', async () => {
    const bytes = await page.evaluate(recipes => {
      const bloom = bloomLibrary.createBloom({ entriesMax: 100, falsePositiveRateMax: 0.0001, seed: 7n })
      bloom.addAll(prepareKeys(recipes))
      return [...bloomLibrary.encodeBloom(bloom)]
    }, JSON.stringify(RECIPES))
    const carried = decodeBloom(Uint8Array.from(bytes))
    expect(RECIPES.map(prepare).map(key => carried.has(key))).toEqual(RECIPES.map(() => true))
    expect(carried.has('a key that was never added')).toBe(false)
  })

  test(`${RANDOM_KEYS} random keys: none is denied, and the encoded filters are identical to the byte`, async () => {
    const recipes = randomRecipes(RANDOM_KEYS)
    const options = { entriesMax: RANDOM_KEYS, falsePositiveRateMax: 0.01 }
    const inBrowser = await page.evaluate(
      ([json, sizing]) => {
        const keys = prepareKeys(json)
        const bloom = bloomLibrary.createBloom(sizing)
        bloom.addAll(keys)
        return { denied: keys.filter(key => !bloom.has(key)).length, bytes: [...bloomLibrary.encodeBloom(bloom)] }
      },
      [JSON.stringify(recipes), options] as const,
    )
    const bloom = createBloom(options)
    bloom.addAll(recipes.map(prepare))
    expect(inBrowser.denied).toBe(0)
    expect(Buffer.from(inBrowser.bytes).equals(encodeBloom(bloom))).toBe(true)
  })
})

describe('the library in a bundle', () => {
  /** The error message of each part for invalid options, which no minifier changes. */
  const MARKS = {
    plain: 'entriesMax must be',
    counting: 'counterBits must be',
    rotating: 'slicesMax must be',
    forgetful: 'pastFilters must be',
    encoding: 'Not an encoded filter',
  }

  async function bundle(source: string): Promise<string> {
    const entry = 'virtual:entry'
    const result = await build({
      configFile: false,
      root: import.meta.dirname,
      logLevel: 'silent',
      plugins: [
        { name: 'entry', resolveId: id => (id === entry ? id : null), load: id => (id === entry ? source : null) },
      ],
      build: { write: false, target: 'es2022', minify: true, rolldownOptions: { input: entry } },
    })
    const [built] = [result].flat()
    if (!built || !('output' in built)) throw new TypeError('vite watched instead of building once.')
    return built.output[0].code
  }

  function partsIn(code: string): string[] {
    return Object.entries(MARKS).flatMap(([part, mark]) => (code.includes(mark) ? [part] : []))
  }

  test('a bundle contains what is imported and no more', async () => {
    const one = await bundle(
      "import { createBloom } from '@freshet/bloom'; globalThis.filter = createBloom({ bits: 64, hashes: 2 })",
    )
    const all = await bundle("import * as bloom from '@freshet/bloom'; globalThis.bloom = bloom")
    for (const [name, code] of Object.entries({ 'createBloom alone': one, 'the whole library': all })) {
      console.log(`${name}: ${code.length} bytes, ${gzipSync(code).length} gzipped`)
    }
    expect(partsIn(one)).toEqual(['plain'])
    expect(partsIn(all)).toEqual(Object.keys(MARKS))
    expect(gzipSync(one).length).toBeLessThan(3 * 1024)
  })
})
