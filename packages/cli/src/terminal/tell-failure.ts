/** Why a command failed: a line on standard error for people; with `--json` one object with `code` and `message`, where results would be. */
export interface Failure {
  readonly code: string
  readonly message: string
}

export function tellFailure(
  { code, message }: Failure,
  isJson: boolean,
  more: Readonly<Record<string, unknown>> = {},
): void {
  const hinted = code === 'UNAUTHENTICATED' ? `${message} This command takes it from FRESHET_TOKEN.` : message
  if (isJson) console.log(JSON.stringify({ code, message: hinted, ...more }))
  else console.error(hinted)
}
