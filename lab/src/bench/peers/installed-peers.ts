/**
 * The peers as their users get them: from npm's registry and through Go's module proxy, in pinned versions. They are installed on
 * first use into a cache folder, so they are not dependencies of this repository. `npm ci` removes the folder.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PeerMissing } from './peer.js'
import { POCKETBASE_MAIN } from './pocketbase-main.js'

const run = promisify(execFile)

/** The newest of November 2026; of PocketBase, the newest that Go 1.26 can build. */
export const VERSIONS = {
  pocketbase: 'v0.39.11',
  'parse-server': '9.10.0',
  'json-server': '0.17.4',
  miniflare: '4.20260730.0',
  '@rocicorp/zero': '1.9.0',
} as const

type NpmPeer = Exclude<keyof typeof VERSIONS, 'pocketbase'>

const KEPT = fileURLToPath(new URL('../../../../node_modules/.cache/freshet-peers', import.meta.url))
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024

/** The folder with the package's `node_modules`. */
export function installNpmPeer(name: NpmPeer): Promise<string> {
  const version = VERSIONS[name]
  return installed(`${name.replace('/', '-')}-${version}`, async folder => {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true }))
    // No scripts: what these packages build or download afterwards is not needed here.
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--workspaces=false', '--prefix', folder]
    await runIn(folder, 'npm', ['install', ...options, `${name}@${version}`], environmentForNpm())
  })
}

/** The program, built with one addition: a variable chooses when SQLite writes to the disk. */
export async function buildPocketbase(): Promise<string> {
  const folder = await installed(`pocketbase-${VERSIONS.pocketbase}`, async folder => {
    writeFileSync(join(folder, 'main.go'), POCKETBASE_MAIN)
    const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' }
    await runIn(folder, 'go', ['mod', 'init', 'example.org/peer'], env)
    await runIn(folder, 'go', ['get', `github.com/pocketbase/pocketbase@${VERSIONS.pocketbase}`], env)
    await runIn(folder, 'go', ['build', '-o', 'pocketbase', '.'], env)
  })
  return join(folder, 'pocketbase')
}

/** Does the work in a folder beside, so that a peer whose installation was interrupted is installed again. */
async function installed(name: string, install: (folder: string) => Promise<void>): Promise<string> {
  const kept = join(KEPT, name)
  if (existsSync(kept)) return kept
  mkdirSync(KEPT, { recursive: true })
  const installing = mkdtempSync(join(KEPT, 'installing-'))
  try {
    await install(installing)
    renameSync(installing, kept)
    return kept
  } catch (error) {
    rmSync(installing, { recursive: true, force: true })
    throw error
  }
}

async function runIn(cwd: string, program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await run(program, args, { cwd, env, maxBuffer: OUTPUT_BYTES_MAX })
  } catch (cause) {
    const { code, stderr } = cause as { code?: unknown; stderr?: string }
    if (code === 'ENOENT') throw new PeerMissing(`${program} is not installed.`, { cause })
    const reasons = stderr?.trim().split('\n').slice(-3).join(' ')
    throw new PeerMissing(`${program} ${args.slice(0, 2).join(' ')} failed: ${reasons}`, { cause })
  }
}

/** Without the variables by which `npm run` names the package that it runs a script of; the user's own settings stay. */
function environmentForNpm(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?:package|lifecycle)_|^npm_config_local_prefix$/.test(name),
  )
  return Object.fromEntries(own)
}
