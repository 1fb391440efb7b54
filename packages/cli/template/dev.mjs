/** `npm run dev`: the data server and Vite, side by side. Both end when one of them ends, on Ctrl-C, and when npm ends. */
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
// When npm is stopped, it stops the shell in between, and the shell does not signal this process.
const parent = process.ppid
setInterval(() => process.ppid !== parent && endAll(), 250).unref()
