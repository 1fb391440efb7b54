/**
 * What every package has from the root: the address of the repository and the license. The root's package.json has the address once;
 * `npm run release -- --sync` writes what follows from it into the packages, and a test compares.
 */
import type { Manifest, Repository } from './package-manifest.js'

/** `https://github.com/owner/name`, from the root's package.json. */
export function repositoryAddress({ repository }: Manifest): string {
  const [, address] = /^git\+(https:.*)\.git$/.exec(repository?.url ?? '') ?? []
  if (address === undefined) {
    throw new Error('package.json needs a repository.url of the form git+https://HOST/OWNER/NAME.git.')
  }
  return address
}

export interface SharedFields {
  readonly homepage: string
  readonly bugs: { readonly url: string }
  readonly repository: Repository
  readonly license: string | undefined
}

/** What the package in `folder` must have; '' is the root. */
export function sharedFields(root: Manifest, folder: string): SharedFields {
  const address = repositoryAddress(root)
  const url = `git+${address}.git`
  return {
    homepage: `${folder === '' ? address : `${address}/tree/main/${folder}`}#readme`,
    bugs: { url: `${address}/issues` },
    repository: { type: 'git', url, ...(folder === '' ? {} : { directory: folder }) },
    license: root.license,
  }
}

/** Where a file of the repository is read in a browser. */
function addressOfFile(repository: string, path: string): string {
  return `${repository}/blob/main/${path}`
}

const LINK = /\]\(([^)\s]+)\)/g

/** What a text in Markdown links to. */
export function linksOf(markdown: string): readonly string[] {
  return [...markdown.matchAll(LINK)].map(([, href]) => href!)
}

/** A README whose links out of its package lead to the repository, and whose links to `before` lead to it, too. */
export function withRepositoryLinks(readme: string, folder: string, before: string, repository: string): string {
  return readme.replace(LINK, (link, href: string) => {
    if (href.startsWith(`${before}/`)) return `](${repository}${href.slice(before.length)})`
    if (!href.startsWith('../')) return link
    const { pathname, hash } = new URL(href, `https://host/${folder}/`)
    return `](${addressOfFile(repository, pathname.slice(1))}${hash})`
  })
}
