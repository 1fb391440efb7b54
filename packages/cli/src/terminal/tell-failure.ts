/**
 * Reports why a command failed: a line on standard error; with `--json`, an object with `code` and `message` on standard output.
 */
export interface Failure {
  readonly code: string
  readonly message: string
}

export function tellFailure(
  { code, message }: Failure,
  isJson: boolean,
  more: Readonly<Record<string, unknown>> = {},
): void {
  const hinted = code === 'UNAUTHENTICATED' ? `${message} Set FRESHET_TOKEN to a token for this server.` : message
  if (isJson) console.log(JSON.stringify({ code, message: hinted, ...more }))
  else console.error(hinted)
}
