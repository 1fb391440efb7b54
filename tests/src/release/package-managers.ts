/** npm, pnpm, Yarn and Bun, each as its users run it: with a cache of its own, so that no test finds what another has installed. */
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PackageManager {
  readonly name: string
  /** What starts it: a program and its first arguments. */
  readonly command: readonly string[]
  /** The word for installing a package, and its options. */
  readonly add: readonly string[]
  /** What comes before the name of a program that a package brings. */
  readonly execute: readonly string[]
  /** What runs a script with what was installed. */
  readonly script: readonly string[]
  /** Its settings, by the name of the file; `registry` is the address to take packages from. */
  settings(registry: string): Readonly<Record<string, string>>
}

/** From the registry: the versions that this repository is tested with. */
const PNPM = '12.18.0'
const YARN = '4.18.1'
const BUN = '1.4.4'
const platform = `${process.platform}-${process.arch}`
/** Bun's own package copies its program from this one when it is installed. */
const bunPackage = `@oven/bun-${platform.replace('arm64', 'aarch64')}`

export const MANAGER_PACKAGES: readonly string[] = [`pnpm@${PNPM}`, `@yarnpkg/cli-dist@${YARN}`, `${bunPackage}@${BUN}`]

/** `tools`: the folder in which MANAGER_PACKAGES are installed. */
export function packageManagers(tools: string): readonly PackageManager[] {
  const from = (path: string) => join(tools, 'node_modules', path)
  const [pnpm, yarn, bun] = [
    from('pnpm/bin/pnpm.mjs'),
    from('@yarnpkg/cli-dist/bin/yarn.js'),
    from(`${bunPackage}/bin/bun`),
  ]
  const node = process.execPath
  const npmrc = (registry: string) => ({ '.npmrc': `registry=${registry}\n` })
  return [
    {
      name: 'npm',
      command: ['npm'],
      add: ['install', '--no-audit', '--no-fund'],
      execute: ['npm', 'exec', '--'],
      script: [node],
      settings: npmrc,
    },
    {
      name: 'pnpm',
      command: [node, pnpm],
      add: ['add'],
      execute: [node, pnpm, 'exec'],
      script: [node],
      settings: registry => ({ ...npmrc(registry), 'pnpm-workspace.yaml': NO_BUILDS }),
    },
    {
      name: 'Yarn',
      command: [node, yarn],
      add: ['add'],
      execute: [node, yarn, 'run'],
      script: [node, yarn, 'node'],
      settings: registry => ({ '.yarnrc.yml': yarnrc(registry), 'yarn.lock': '' }),
    },
    {
      name: 'Bun',
      command: [bun],
      add: ['add'],
      execute: [bun, 'x', '--no-install'],
      script: [bun],
      settings: npmrc,
    },
  ]
}

/** As packages/cli/README.md tells users of pnpm: these packages bring their binaries, so they need not be built. */
const NO_BUILDS = `allowBuilds:
  "@photostructure/sqlite": false
  lmdb: false
  msgpackr-extract: false
`

function yarnrc(registry: string): string {
  const settings = [`npmRegistryServer: '${registry}'`, "unsafeHttpWhitelist: ['127.0.0.1']", 'enableTelemetry: false']
  return `${settings.join('\n')}\ncompressionLevel: 0\n`
}

/** A new, empty project in `folder` that takes packages from this registry. */
export function createProject(folder: string, manager: PackageManager, registry: string): void {
  mkdirSync(folder, { recursive: true })
  // Yarn looks up optional packages of every platform, and mirrors of the registry may lack some.
  const resolutions = { 'msgpackr-extract': 'npm:empty-npm-package@1.0.0' }
  const manifest = { name: 'app', private: true, type: 'module', ...(manager.name === 'Yarn' ? { resolutions } : {}) }
  const files = { 'package.json': JSON.stringify(manifest), ...manager.settings(registry) }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

/** The environment of a user who has never used a package manager. */
export function freshEnvironment(caches: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|VITEST|FRESHET_|FORCE_COLOR|CI$|TEST$|PORT$|NODE_ENV$|NODE_OPTIONS$)/.test(name),
  )
  return {
    ...Object.fromEntries(own),
    npm_config_cache: join(caches, 'npm'),
    npm_config_update_notifier: 'false',
    XDG_CACHE_HOME: join(caches, 'pnpm-cache'),
    XDG_DATA_HOME: join(caches, 'pnpm-data'),
    YARN_GLOBAL_FOLDER: join(caches, 'yarn'),
    BUN_INSTALL_CACHE_DIR: join(caches, 'bun'),
  }
}

/** Throws with everything that the program has printed. */
export async function runIn(folder: string, command: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const [program, ...args] = command as [string, ...string[]]
  try {
    return (await run(program, args, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command.join(' ')} failed in ${folder}:\n${stdout}${stderr}`, { cause: error })
  }
}
