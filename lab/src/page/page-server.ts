/** Answers GET and HEAD for a fixed table of files, and nothing else. */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { extname } from 'node:path'
import type { PageFiles } from './page-files.js'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
}

// The isolation headers give the page a clock of 5 microseconds instead of 100, to time the filter with.
const HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

interface Answer {
  readonly status: number
  readonly contentType: string
  readonly body: Uint8Array | string
}

export function createPageServer(files: PageFiles): Server {
  return createServer((request, response) => {
    answerTo(request, files).then(answer => send(response, answer, request.method === 'HEAD'))
  })
}

async function answerTo(request: IncomingMessage, files: PageFiles): Promise<Answer> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return plain(405, `This server does not answer ${request.method}. Use GET or HEAD.`)
  }
  const [path] = (request.url ?? '/').split('?', 1)
  const file = files.get(path!)
  if (!file) return plain(404, `There is nothing at ${path}. The page is at /.`)
  try {
    return { status: 200, contentType: CONTENT_TYPES[extname(file.pathname)]!, body: await readFile(file) }
  } catch (error) {
    return plain(500, `${file.pathname} cannot be read (${(error as Error).message}). Rebuild it: npm run build`)
  }
}

function plain(status: number, text: string): Answer {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${text}\n` }
}

function send(response: ServerResponse, { status, contentType, body }: Answer, headOnly: boolean): void {
  response.writeHead(status, {
    ...HEADERS,
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    ...(status === 405 && { Allow: 'GET, HEAD' }),
  })
  response.end(headOnly ? undefined : body)
}
