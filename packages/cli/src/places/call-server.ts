/** Requests of the command about schemas and tasks rather than objects. */
import { FreshetError, fromProblem } from '@freshet/protocol'

export interface Called<Body> {
  readonly body: Body
  readonly etag: string | undefined
}

/** Throws the server's error; REQUEST_FAILED if there is no answer; ANSWER_INVALID if the answer is not a Freshet server's. */
export async function callServer<Body>(
  url: string,
  method: 'GET' | 'PUT' | 'POST',
  target: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Called<Body>> {
  const response = await send(`${url}${target}`, {
    method,
    headers: {
      ...headersOf(authorizationOf(process.env)),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = await read(response, `${method} ${url}${target}`)
  if (!response.ok) throw fromProblem(answer) ?? notOurs(`${method} ${url}${target}`, response.status)
  return { body: answer as Body, etag: response.headers.get('etag') ?? undefined }
}

/** The token for a server that has rules, as an option of `connect`. */
export function authorizationOf({ FRESHET_TOKEN: token }: NodeJS.ProcessEnv): { readonly authorization?: string } {
  return token ? { authorization: token } : {}
}

function headersOf({ authorization }: { readonly authorization?: string }): Record<string, string> {
  return authorization === undefined ? {} : { authorization: `Bearer ${authorization}` }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (cause) {
    const reason = ((cause as Error).cause as Error | undefined)?.message ?? (cause as Error).message
    throw new FreshetError('REQUEST_FAILED', `${url} got no answer: ${reason}. Is the server running?`, { cause })
  }
}

async function read(response: Response, name: string): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    throw notOurs(name, response.status)
  }
}

function notOurs(name: string, status: number): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `${name} was answered with status ${status}, and not by a Freshet server. Check the address.`,
  )
}
