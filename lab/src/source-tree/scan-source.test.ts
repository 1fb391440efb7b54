// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings here are source text to scan.
import { expect, test } from 'vitest'
import { scanFileUrls, scanImports } from './scan-imports.js'
import { scanSource } from './scan-source.js'

function specifiers(text: string): string[] {
  return scanImports(text).map(found => found.specifier)
}

test('every form of import is found, at the line of its specifier', () => {
  const text = [
    "import { a } from './static.js'",
    "import type { B } from './type-only.js'",
    'import c, {',
    '  type D,',
    '  e as f,',
    "} from './several-lines.js'",
    "export { g } from './re-export.js'",
    "export * as h from './star.js'",
    "import './side-effect.js'",
    "const i = await import('./dynamic.js')",
    "import j from './data.json' with { type: 'json' }",
    "const k: import('./type-query.js').K = i",
    "import(/* chunk */ './commented.js')",
  ].join('\n')
  expect(scanImports(text).sort((left, right) => left.line - right.line)).toEqual([
    { specifier: './static.js', line: 1 },
    { specifier: './type-only.js', line: 2 },
    { specifier: './several-lines.js', line: 6 },
    { specifier: './re-export.js', line: 7 },
    { specifier: './star.js', line: 8 },
    { specifier: './side-effect.js', line: 9 },
    { specifier: './dynamic.js', line: 10 },
    { specifier: './data.json', line: 11 },
    { specifier: './type-query.js', line: 12 },
    { specifier: './commented.js', line: 13 },
  ])
})

test('an import in a comment, a string, a template or a regular expression does not count', () => {
  const text = [
    "// import a from 'line-comment'",
    "/* import b from 'block-comment' */",
    'const c = "import c from \'string\'"',
    "const d = `import d from 'template'`",
    "const e = /import e from 'regex'/",
    "const f = 'it\\'s' + \"import f from 'escaped'\"",
  ].join('\n')
  expect(specifiers(text)).toEqual([])
})

test('the braces of a template contain code, even in nested templates', () => {
  const text =
    "const a = `x ${b ? `y ${await import('./inner.js')}` : { c: '}' }.c} import d from 'text'`; import('./after.js')"
  expect(specifiers(text)).toEqual(['./inner.js', './after.js'])
})

test('a slash that divides does not hide the text after it, and a slash that starts a regular expression does', () => {
  expect(specifiers("const a = b! / 2; import('./a.js'); c / 3")).toEqual(['./a.js'])
  expect(specifiers("const a = (b) / 2; import('./a.js'); c / 3")).toEqual(['./a.js'])
  expect(specifiers("const a = i++ / 2; import('./a.js'); c / 3")).toEqual(['./a.js'])
  expect(specifiers("if (!/['/]/.test(a)) import('./a.js')")).toEqual(['./a.js'])
  expect(specifiers("return /[/'\"]/.test(a) ? import('./a.js') : 0")).toEqual(['./a.js'])
})

test('offsets and lines match the source', () => {
  const text = "const a = 'b' // c\n/* d\n*/ e = `f\n${g}`\n"
  const { code, comments } = scanSource(text)
  expect(code).toBe("const a = ' '     \n    \n   e = ` \n${g}`\n")
  expect(comments).toBe('              // c\n/* d\n*/       \n     \n')
})

test('files named by URL are found only if they are relative to the module', () => {
  expect(scanFileUrls("new Worker(new URL('./worker.js', import.meta.url))")).toEqual([
    { specifier: './worker.js', line: 1 },
  ])
  expect(scanFileUrls("new URL('./path', 'http://127.0.0.1')")).toEqual([])
})
