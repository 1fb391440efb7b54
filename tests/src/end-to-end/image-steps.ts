/**
 * Builds an image without a container engine: follows the COPY and RUN instructions of each stage of a Dockerfile in a folder for
 * that stage. It knows the instructions that deploy/docker/Dockerfile uses, and throws at any other. RUN happens outside a
 * container, so commands with absolute paths are not run: the caller does what they would do.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { DockerfileParser, type Instruction, type JSONInstruction, type ModifiableInstruction } from 'dockerfile-ast'

/** What a container would be started with. Paths in the container are below `root`. */
export interface BuiltImage {
  readonly root: string
  readonly workingFolder: string
  readonly environment: Readonly<Record<string, string>>
  readonly command: readonly string[]
  /** Exits with 0 in a healthy container. */
  readonly healthCheck: readonly string[]
  readonly stopSignal: string
  /** The commands that were not run. */
  readonly notRun: readonly string[]
}

export interface BuildOptions {
  readonly dockerfile: string
  /** The root of the repository. */
  readonly context: string
  /** An empty folder. */
  readonly folder: string
  /** Of the commands. */
  readonly environment: NodeJS.ProcessEnv
}

interface Stage {
  readonly root: string
  folder: string
  environment: Record<string, string>
  entryPoint: readonly string[]
  arguments: readonly string[]
  healthCheck: readonly string[]
  stopSignal: string
  readonly notRun: string[]
}

/** No effect on files, nor on how the server is started here. */
const WITHOUT_EFFECT = ['ARG', 'VOLUME', 'EXPOSE', 'USER']

export function buildImage(options: BuildOptions): BuiltImage {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const each of DockerfileParser.parse(readFileSync(options.dockerfile, 'utf8')).getInstructions()) {
    if (each.getKeyword() === 'FROM') {
      const [, , name = `${stages.size}`] = wordsOf(each)
      stage = newStage(join(options.folder, name))
      stages.set(name, stage)
    } else if (stage !== undefined) take(each, stage, stages, options)
  }
  if (stage === undefined) throw new Error('The Dockerfile has no FROM.')
  const { root, folder, environment, healthCheck, stopSignal, notRun } = stage
  const command = [...stage.entryPoint, ...stage.arguments]
  return { root, workingFolder: root + folder, environment, command, healthCheck, stopSignal, notRun }
}

function newStage(root: string): Stage {
  mkdirSync(root, { recursive: true })
  const nothing = { entryPoint: [], arguments: [], healthCheck: [], notRun: [] }
  return { root, folder: '/', environment: {}, stopSignal: 'SIGTERM', ...nothing }
}

function take(each: Instruction, stage: Stage, stages: ReadonlyMap<string, Stage>, options: BuildOptions): void {
  const keyword = each.getKeyword()
  const text = each.getArgumentsContent() ?? ''
  if (keyword === 'WORKDIR') enter(stage, text)
  else if (keyword === 'ENV') addVariables(stage, wordsOf(each))
  else if (keyword === 'COPY') copy(each as JSONInstruction, stage, stages, options.context)
  else if (keyword === 'RUN') runCommand(text, stage, options)
  else if (keyword === 'STOPSIGNAL') stage.stopSignal = text
  else if (keyword === 'ENTRYPOINT') stage.entryPoint = JSON.parse(text) as string[]
  else if (keyword === 'CMD') stage.arguments = JSON.parse(text) as string[]
  else if (keyword === 'HEALTHCHECK') stage.healthCheck = JSON.parse(text.replace(/^CMD /, '')) as string[]
  else if (!WITHOUT_EFFECT.includes(keyword)) throw new Error(`image-steps.ts does not know ${keyword}. Add it there.`)
}

function enter(stage: Stage, folder: string): void {
  stage.folder = folder
  mkdirSync(stage.root + folder, { recursive: true })
}

function addVariables(stage: Stage, words: readonly string[]): void {
  Object.assign(stage.environment, Object.fromEntries(words.map(word => word.split('='))))
}

function wordsOf(each: Instruction): readonly string[] {
  return (each.getArgumentsContent() ?? '').split(/\s+/)
}

function runCommand(text: string, stage: Stage, { environment }: BuildOptions): void {
  if (/(?:^|\s)\//.test(text)) {
    stage.notRun.push(text)
    return
  }
  const env = { ...environment, ...stage.environment }
  execFileSync('/bin/sh', ['-ec', text], { cwd: stage.root + stage.folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

function copy(each: ModifiableInstruction, stage: Stage, stages: ReadonlyMap<string, Stage>, context: string): void {
  const words = wordsOf(each)
  const [sources, target] = [words.slice(0, -1), words.at(-1)!]
  const from = each
    .getFlags()
    .find(flag => flag.getName() === 'from')
    ?.getValue()
  const to = isAbsolute(target) ? stage.root + target : join(stage.root, stage.folder, target)
  for (const source of sources) {
    if (from) linkFolder(stages.get(from)!.root + source, to)
    else copyFromContext(context, source, to, target.endsWith('/'))
  }
}

/** A stage that is done does not change, so hard links are enough: the folders have tens of thousands of files. */
function linkFolder(path: string, to: string): void {
  mkdirSync(to, { recursive: true })
  execFileSync('cp', ['-al', `${path}/.`, to])
}

function copyPath(path: string, source: string, to: string, isInto: boolean): void {
  if (!existsSync(path)) throw new Error(`COPY ${source}: it does not exist.`)
  const target = isInto && !statSync(path).isDirectory() ? join(to, basename(path)) : to
  mkdirSync(dirname(target), { recursive: true })
  cpSync(path, target, { recursive: true, verbatimSymlinks: true })
}

/** A file, a folder, or files with a star in their names. */
function copyFromContext(context: string, source: string, to: string, isInto: boolean): void {
  const pattern = new RegExp(`^${source.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}(?:/|$)`)
  const found = filesOf(context).filter(path => pattern.test(path))
  if (found.length === 0) throw new Error(`COPY ${source}: git has no such file, or .dockerignore leaves it out.`)
  for (const path of found) {
    const isFile = path === source || source.includes('*')
    copyPath(join(context, path), source, isFile ? to : join(to, path.slice(source.length)), isFile && isInto)
  }
}

/** What a clone has, and what is new. */
function filesOf(context: string): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard']
  const listed = execFileSync('git', args, { cwd: context, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const ignored = readFileSync(join(context, '.dockerignore'), 'utf8').trim().split('\n').map(ignorePattern)
  const isThere = (path: string) => existsSync(join(context, path))
  return listed.split('\n').filter(path => path !== '' && isThere(path) && !ignored.some(each => each.test(path)))
}

function ignorePattern(line: string): RegExp {
  const anywhere = line.startsWith('**/')
  const name = line
    .replace(/^\*\*\//, '')
    .replaceAll('.', '\\.')
    .replaceAll('*', '[^/]*')
  return new RegExp(`${anywhere ? '(?:^|/)' : '^'}${name}(?:/|$)`)
}
