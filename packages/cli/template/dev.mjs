/** `npm run dev`: the data server and Vite, side by side. Whichever ends, Ctrl-C, or the end of npm ends both. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const bin = name => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url))
const children = [
  spawn(bin('freshet'), ['dev', '--no-page', '--no-samples'], { stdio: 'inherit' }),
  spawn(bin('vite'), process.argv.slice(2), { stdio: 'inherit' }),
]
const endAll = () => {
  for (const child of children) child.kill('SIGINT')
}
for (const child of children) {
  child.on('exit', code => {
    process.exitCode ||= code ?? 0
    endAll()
  })
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, endAll)
// Told to stop, npm stops the shell between them, and the shell does not tell this process.
const parent = process.ppid
setInterval(() => process.ppid !== parent && endAll(), 250).unref()
