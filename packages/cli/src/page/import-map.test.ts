import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const packages = new URL('../../../', import.meta.url)

function read(path: string): string {
  return readFileSync(new URL(path, packages), 'utf8')
}

test("the page's import map has every entry point that the client and its imports use", () => {
  const map = new Set([...read('cli/page/index.html').matchAll(/"(@freshet\/[^"]+)":/g)].map(([, door]) => door!))
  const files = ['client', 'protocol', 'bloom'].flatMap(name =>
    (readdirSync(new URL(`${name}/src/`, packages), { recursive: true }) as string[])
      .filter(path => path.endsWith('.ts') && !path.includes('.test.') && !path.startsWith('testing/'))
      .map(path => `${name}/src/${path}`),
  )
  const imports = /^(?:import|export)(?! type)[^;(=/]*? from '(@freshet\/[^']+)'/gm
  const doors = new Set(files.flatMap(path => [...read(path).matchAll(imports)].map(([, door]) => door!)))
  expect(doors.size).toBeGreaterThan(3)
  expect([...doors].filter(door => !map.has(door))).toEqual([])
})
