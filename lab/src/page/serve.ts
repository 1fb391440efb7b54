/**
 * The entry point of `npm run filters`: serves the filter page to this machine only.
 *
 * The exit code is 0 after Ctrl-C, 1 if the port is not available, 2 if the command line was wrong.
 */
import type { AddressInfo } from 'node:net'
import { UsageError } from '../harness/usage-error.js'
import { listPageFiles } from './page-files.js'
import { createPageServer } from './page-server.js'
import { readPort } from './serve-arguments.js'

function serve(port: number): void {
  const server = createPageServer(listPageFiles())
  server.on('error', (error: NodeJS.ErrnoException) => fail(1, refusal(error, port)))
  server.listen(port, '127.0.0.1', () => {
    const { port: portTaken } = server.address() as AddressInfo
    console.log(`Freshet filter page: http://localhost:${portTaken} (Ctrl-C stops it)`)
  })
  const stop = () => {
    server.close()
    // Browsers keep connections open for minutes; closing them loses nothing.
    server.closeAllConnections()
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
}

function refusal(error: NodeJS.ErrnoException, port: number): string {
  const another = `Choose another port: npm run filters -- --port ${(port % 65_535) + 1}`
  if (error.code === 'EADDRINUSE') return `Port ${port} is taken by another program. ${another}`
  if (error.code === 'EACCES') return `This account is not allowed to use port ${port}. ${another}`
  return `The server cannot listen on port ${port}: ${error.message}. ${another}`
}

function fail(exitCode: number, message: string): void {
  console.error(message)
  process.exitCode = exitCode
}

try {
  serve(readPort(process.argv.slice(2), process.env))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  fail(2, error.message)
}
