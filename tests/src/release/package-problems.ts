/** What is wrong with a package as it would be published. Each message names the fix. */
import { posix } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import type { Manifest } from './package-manifest.js'
import type { PackedPackage } from './packed-packages.js'
import { linksOf, repositoryAddress, sharedFields } from './shared-fields.js'

export interface Checkout {
  readonly root: Manifest
  /** The text of LICENSE. */
  readonly license: string
  /** Whether a path, from the root of the repository, is of a file or a folder. */
  hasPath(path: string): boolean
}

export async function packageProblems(packed: PackedPackage, checkout: Checkout): Promise<readonly string[]> {
  const found = [
    ...fieldProblems(packed, checkout),
    ...linkProblems(packed, checkout),
    ...fileProblems(packed),
    ...(await publintProblems(packed)),
  ]
  return found.map(problem => `${packed.folder}: ${problem}`)
}

const SYNC = 'Run `npm run release -- --sync`.'

function fieldProblems({ folder, manifest, files }: PackedPackage, { root, license }: Checkout): readonly string[] {
  const wrong = Object.entries(sharedFields(root, folder))
    .filter(([field, value]) => !isDeepStrictEqual(manifest[field as keyof Manifest], value))
    .map(([field]) => `${field} in package.json is not what follows from the root's. ${SYNC}`)
  const missing = (['description', 'keywords'] as const)
    .filter(field => (manifest[field]?.length ?? 0) === 0)
    .map(field => `package.json has no ${field}. Say there what the package is for.`)
  const isLicensed = `${files.get('LICENSE')}` === license
  return [...wrong, ...missing, ...(isLicensed ? [] : [`LICENSE is not the root's. ${SYNC}`])]
}

function linkProblems({ files }: PackedPackage, { root, hasPath }: Checkout): readonly string[] {
  const readme = files.get('README.md')
  if (readme === undefined) return ['README.md is missing. Write what the package is for, with an example.']
  const address = repositoryAddress(root)
  return linksOf(`${readme}`).flatMap(href => {
    const path = pathIn(address, href)
    if (path !== undefined) return hasPath(path) ? [] : [`README.md links to ${href}, and there is no ${path}.`]
    if (/^(?:https?:|#)/.test(href) || files.has(posix.normalize(href.replace(/#.*$/, '')))) return []
    return [`README.md links to ${href}, which is not in the package. ${SYNC}`]
  })
}

/** Of a link to the repository: the path that it leads to. */
function pathIn(address: string, href: string): string | undefined {
  if (!href.startsWith(`${address}/`)) return undefined
  return /^\/(?:blob|tree)\/main\/([^#]*)/.exec(href.slice(address.length))?.[1]
}

const UNNEEDED = /\.test\.|\.tsbuildinfo$|\.map$/

function fileProblems({ files }: PackedPackage): readonly string[] {
  const unneeded = [...files.keys()].filter(path => UNNEEDED.test(path))
  const code = [...files].filter(([path]) => /\.(?:[cm]?js|ts|css)$/.test(path))
  const dangling = code.filter(([, bytes]) => /^\/[/*]# sourceMappingURL=(?!data:)/m.test(`${bytes}`))
  return [
    ...unneeded.map(path => `${path} is packed. Exclude it by \`files\` in package.json.`),
    ...dangling.map(([path]) => `${path} names a source map that is not packed. Delete dist and build again.`),
  ]
}

async function publintProblems({ manifest, files }: PackedPackage): Promise<readonly string[]> {
  const packed = [...files].map(([path, data]) => ({ name: `package/${path}`, data }))
  const { messages } = await publint({ pkgDir: 'package', strict: true, pack: { files: packed } })
  return messages.map(message => `publint: ${formatMessage(message, { ...manifest }, { color: false })}`)
}

/** Made by the bundler. */
const BUNDLED = /^dist\/(?:browser|files)\//

/** Built files whose source is gone, which tsc leaves behind. */
export function staleFiles({ folder, files }: PackedPackage, isThere: (path: string) => boolean): readonly string[] {
  return [...files.keys()]
    .filter(path => /^dist\/.*\.(?:d\.ts|js)$/.test(path) && !BUNDLED.test(path))
    .filter(path => {
      const source = `${folder}/${path.replace(/^dist\//, 'src/').replace(/(?:\.d\.ts|\.js)$/, '')}`
      return !isThere(`${source}.ts`) && !isThere(`${source}.tsx`)
    })
    .map(path => `${folder}: ${path} has no source. Delete ${folder}/dist and build again.`)
}
