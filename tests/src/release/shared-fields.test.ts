import { expect, test } from 'vitest'
import { sharedFields, withRepositoryLinks } from './shared-fields.js'

const manifest = { name: 'root', version: '1.0.0', license: 'MIT' }
const root = { ...manifest, repository: { type: 'git', url: 'git+https://code.example/them/it.git' } }

test('the address in the root decides on all others', () => {
  expect(sharedFields(root, 'packages/core')).toEqual({
    homepage: 'https://code.example/them/it/tree/main/packages/core#readme',
    bugs: { url: 'https://code.example/them/it/issues' },
    repository: { type: 'git', url: 'git+https://code.example/them/it.git', directory: 'packages/core' },
    license: 'MIT',
  })
  expect(() => sharedFields(manifest, '')).toThrow('repository.url')
})

test('links of a README move with the repository, and those out of the package become addresses', () => {
  const before = 'https://code.example/old/it'
  const readme = `[a](../../docs/a.md#b) [c](${before}/blob/main/c.md) [d](#d) [e](https://example.org/) [f](LICENSE)`
  expect(withRepositoryLinks(readme, 'packages/core', before, 'https://code.example/them/it')).toBe(
    '[a](https://code.example/them/it/blob/main/docs/a.md#b) [c](https://code.example/them/it/blob/main/c.md) ' +
      '[d](#d) [e](https://example.org/) [f](LICENSE)',
  )
})
