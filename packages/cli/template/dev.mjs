/**
 * `npm run dev`: the data server and Vite, side by side. Both end when one of them ends, on Ctrl-C, and when npm ends.
 *
 * The server takes port FRESHET_PORT, by default 7700, or the next port that no other program uses. Vite passes its address on to
 * the page. So this app runs beside other servers and other apps, each with its own data.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

async function freePort(port) {
  const probe = createServer()
  try {
    await once(probe.listen(port, '127.0.0.1'), 'listening')
    return probe.address().port
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error
    console.log(`Another program uses port ${port}, so the data server takes the next free one.`)
    return freePort(port + 1)
  } finally {
    probe.close()
  }
}

const port = await freePort(Number(process.env.FRESHET_PORT || 7700))
const env = { ...process.env, VITE_FRESHET_URL: process.env.VITE_FRESHET_URL || `http://localhost:${port}` }
const bin = name => fileURLToPath(new URL(`./node_modules/.bin/${name}`, import.meta.url))
const children = [
  spawn(bin('freshet'), ['dev', '--no-page', '--no-samples', '--port', `${port}`], { stdio: 'inherit' }),
  spawn(bin('vite'), process.argv.slice(2), { stdio: 'inherit', env }),
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
