/** `freshet init my-app`: a small typed app that runs at once. Its files come from the folder `template` of this package. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { FreshetError } from '@freshet/protocol'
import { ownVersion } from '../terminal/own-version.js'
import { untilStopped } from '../terminal/until-stopped.js'
import type { InitLine } from './init-line.js'

const TEMPLATE = fileURLToPath(new URL('../../template', import.meta.url))
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
/** The versions that this version of Freshet was tested with. */
export const TOOLS: Readonly<Record<'typescript' | 'vite', string>> = { typescript: '7.0.2', vite: '8.3.5' }

const SCOPE = '@freshet/'

export function runInit(line: InitLine): Promise<number> {
  const path = resolve(line.folder)
  const link = line.isFromRegistry ? undefined : (line.link ?? ownClone())
  return untilStopped({ whenStopped: 'Stopped. Nothing was created.', isJson: line.isJson }, async ({ signal }) => {
    await refuseFilled(path)
    const making = `${path}.making`
    await rm(making, { recursive: true, force: true })
    try {
      await cp(TEMPLATE, making, { recursive: true })
      await rename(join(making, 'gitignore'), join(making, '.gitignore'))
      const name = nameOf(path)
      const readme = join(making, 'README.md')
      await writeFile(readme, (await readFile(readme, 'utf8')).replace('{{name}}', name))
      const packed = link === undefined ? undefined : await pack(link, making, signal)
      await writeFile(join(making, 'package.json'), `${JSON.stringify(manifest(name, packed), undefined, 2)}\n`)
      await rm(path, { recursive: true, force: true })
      await rename(making, path)
    } catch (error) {
      await rm(making, { recursive: true, force: true })
      throw error
    }
    if (line.isJson) console.log(JSON.stringify({ folder: path, files: await readdir(path) }))
    else console.log(nextSteps(line.folder, link))
    return 0
  })
}

/** The root of the clone that this command runs from, if any. */
function ownClone(): string | undefined {
  try {
    const { workspaces } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { workspaces?: unknown }
    return Array.isArray(workspaces) && workspaces.includes('packages/*') ? ROOT : undefined
  } catch {
    // The command was installed: the folders above it belong to something else.
    return undefined
  }
}

function nextSteps(folder: string, link: string | undefined): string {
  const where = /\s/.test(folder) ? JSON.stringify(folder) : folder
  const from =
    link === undefined
      ? `npm takes Freshet ${ownVersion()} from its registry. If it is missing there, create the app from a clone: --link FOLDER`
      : `Freshet is in vendor/, packed from ${link}; npm takes the other packages from its registry.`
  return `Created ${folder}. Next:\n\n  cd ${where}\n  npm install\n  npm run dev\n\n${from}\n`
}

async function refuseFilled(path: string): Promise<void> {
  const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  if (names.length === 0) return
  throw new FreshetError('CONFIG_INVALID', `${path} already exists and is not empty. Choose another name.`)
}

/** A name that npm accepts. */
function nameOf(path: string): string {
  return (
    basename(path)
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, '-')
      .replace(/^[._-]+/, '') || 'app'
  )
}

interface Packed {
  /** The packages that the app itself needs; the others are for its server. */
  readonly inApp: ReadonlySet<string>
  /** `freshet-client-0.1.0.tgz` and the like, by the name of the package. */
  readonly files: ReadonlyMap<string, string>
}

async function pack(link: string, folder: string, signal: AbortSignal): Promise<Packed> {
  const vendor = join(folder, 'vendor')
  await mkdir(vendor)
  const cwd = resolve(link)
  console.error(`Packing the packages of ${cwd}; this takes some seconds.`)
  try {
    const [inApp, all] = [await addNeeded(cwd, 'client'), await addNeeded(cwd, 'cli')]
    const workspaces = [...all].flatMap(name => ['--workspace', `packages/${name}`])
    const args = ['pack', '--json', '--pack-destination', vendor, ...workspaces]
    const { stdout } = await promisify(execFile)('npm', args, { cwd, signal })
    const listed = JSON.parse(stdout) as { name: string; filename: string }[]
    return { inApp, files: new Map(listed.map(({ name, filename }) => [shortOf(name), filename])) }
  } catch (cause) {
    throw new FreshetError(
      'CONFIG_INVALID',
      `${cwd} cannot be packed: ${(cause as Error).message.split('\n')[0]}. --link takes a built clone of Freshet.`,
      { cause },
    )
  }
}

/** A package of the clone, and the Freshet packages that it depends on. */
async function addNeeded(clone: string, name: string, needed: Set<string> = new Set()): Promise<Set<string>> {
  if (needed.has(name)) return needed
  needed.add(name)
  const text = await readFile(join(clone, 'packages', name, 'package.json'), 'utf8')
  const { dependencies = {} } = JSON.parse(text) as { dependencies?: Readonly<Record<string, string>> }
  for (const each of Object.keys(dependencies)) {
    if (each.startsWith(SCOPE)) await addNeeded(clone, shortOf(each), needed)
  }
  return needed
}

function shortOf(name: string): string {
  return name.slice(SCOPE.length)
}

function manifest(name: string, packed: Packed | undefined): object {
  const version = ownVersion()
  const names = [...(packed?.files.keys() ?? [])]
  const from = (each: readonly string[]) =>
    Object.fromEntries(
      each.map(short => [SCOPE + short, packed === undefined ? version : `file:vendor/${packed.files.get(short)}`]),
    )
  return {
    name,
    private: true,
    version: '0.0.0',
    type: 'module',
    scripts: { dev: 'node dev.mjs', types: 'tsc', build: 'tsc && vite build', preview: 'vite preview' },
    // Packages from files must all be listed; from the registry, npm finds dependencies by itself.
    dependencies: from(packed === undefined ? ['client'] : names.filter(each => packed.inApp.has(each))),
    devDependencies: {
      ...from(packed === undefined ? ['cli'] : names.filter(each => !packed.inApp.has(each))),
      ...TOOLS,
    },
  }
}
