/**
 * Makes `@freshet/client/browser` from the compiled client: everything in one ES module, for pages without a build step. What the
 * client loads when it is first used is in it from the start.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Rolldown } from 'vite'

const ENTRY = import.meta.resolve('@freshet/client')
const MANIFEST = new URL('../package.json', ENTRY)
export const CLIENT_MODULE: string = fileURLToPath(import.meta.resolve('@freshet/client/browser'))

export async function makeClientModule(): Promise<void> {
  const [{ output }] = (await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      lib: { entry: fileURLToPath(ENTRY), formats: ['es'] },
      rolldownOptions: { output: { codeSplitting: false, minify: true } },
    },
  })) as [Rolldown.RolldownOutput]
  const [file, ...more] = output
  if (more.length > 0) throw new Error(`The client is not one module: ${output.map(each => each.fileName).join(', ')}`)
  const { name, version, license } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Record<string, string>
  mkdirSync(dirname(CLIENT_MODULE), { recursive: true })
  writeFileSync(CLIENT_MODULE, `/*! ${name} ${version}, ${license} license */\n${file.code}`)
}
