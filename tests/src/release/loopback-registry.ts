/**
 * A registry on loopback with the packed packages of this repository, as a user finds them once they are published. For every other
 * package it refers to the registry that npm is configured to use.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { configuredRegistry } from './configured-registry.js'
import { isPublished, readWorkspaces, type Workspace } from './package-manifest.js'
import { packInto } from './packed-packages.js'

export interface LoopbackRegistry {
  readonly url: string
  /** The names of the packages that it serves. */
  readonly names: readonly string[]
  stop(): Promise<void>
}

/** Managers refuse a version that is younger than some days. */
const PUBLISHED = '2026-01-01T00:00:00.000Z'

/** Packs all packages into `folder`, and serves them. */
export async function startRegistry(root: string, folder: string): Promise<LoopbackRegistry> {
  const published = readWorkspaces(root).filter(isPublished)
  const tarballs = await packInto(
    folder,
    root,
    published.map(each => each.folder),
  )
  const upstream = await configuredRegistry()
  const answers = new Map<string, string | Buffer>()
  const server = createServer(({ url: target = '/' }, response) => {
    const path = decodeURIComponent(target)
    const answer = answers.get(path)
    if (answer === undefined) response.writeHead(307, { location: upstream + target }).end()
    else send(response, answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [i, each] of published.entries()) await add(answers, url, each, await readFile(tarballs[i]!))
  return {
    url,
    names: published.map(({ manifest }) => manifest.name),
    stop: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function add(
  answers: Map<string, string | Buffer>,
  url: string,
  { manifest }: Workspace,
  tarball: Buffer,
): Promise<void> {
  const { name, version } = manifest
  const path = `/${name}/-/${name.replace(/.*\//, '')}-${version}.tgz`
  const dist = { tarball: url + path, integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}` }
  answers.set(path, tarball)
  const versions = { [version]: { ...manifest, _id: `${name}@${version}`, dist } }
  const time = { created: PUBLISHED, modified: PUBLISHED, [version]: PUBLISHED }
  answers.set(`/${name}`, JSON.stringify({ name, 'dist-tags': { latest: version }, versions, time }))
}

function send(response: ServerResponse, answer: string | Buffer): void {
  const type = typeof answer === 'string' ? 'application/json' : 'application/octet-stream'
  // Another run may have the same port, and other packages of the same version.
  response.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' }).end(answer)
}
