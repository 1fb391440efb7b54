/** Requests to the routes for operators. Data is read and written with the client instead (`database.ts`). */
import { askForToken, token } from './token.js'

export interface CallOptions {
  readonly method?: 'GET' | 'PUT' | 'POST'
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A refusal, in the words of the server. */
export class CallError extends Error {
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    super(String(problem.detail ?? problem.title ?? `The server answered ${status}.`))
    this.status = status
    this.code = String(problem.code ?? '')
    this.details = problem
  }
}

export async function call<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
  return (await (await send(path, options)).json()) as Answer
}

/** Throws CallError for every answer that is not a success. Asks the user for a token if one is needed. */
export async function send(
  path: string,
  { method = 'GET', body, headers = {}, signal }: CallOptions = {},
): Promise<Response> {
  const sentToken = token.value
  const response = await fetch(path, {
    method,
    cache: 'no-store',
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(sentToken === '' ? {} : { authorization: `Bearer ${sentToken}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  })
  if (response.ok) return response
  if (sentToken === token.value) {
    if (response.status === 401) askForToken(sentToken === '' ? 'missing' : 'refused')
    if (response.status === 403) askForToken('not an admin')
  }
  throw new CallError(response.status, await problemOf(response))
}

async function problemOf(response: Response): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await response.json()) as Readonly<Record<string, unknown>>
  } catch {
    // The answer came from something in between.
    return {}
  }
}

/** The text that users see. */
export function messageOf(error: unknown): string {
  if (error instanceof TypeError && /fetch/i.test(error.message)) return 'The server does not answer.'
  return error instanceof Error ? error.message : String(error)
}
