/** Opens an address in the browser of the desktop, if there is a desktop. */
import { spawn } from 'node:child_process'

export interface Desktop {
  readonly platform: NodeJS.Platform
  readonly environment: Readonly<Record<string, string | undefined>>
}

export function openBrowser(url: string, desktop: Desktop): void {
  const command = browserCommand(url, desktop)
  if (command === undefined) return
  const [program, ...args] = command
  const child = spawn(program, args, { stdio: 'ignore', detached: true })
  child.once('error', () => console.log(`${program} is not installed: open the address in a browser yourself.`))
  child.unref()
}

/** Undefined where no browser can be expected: in CI, and on a Linux machine without a display. */
export function browserCommand(
  url: string,
  { platform, environment }: Desktop,
): readonly [string, ...string[]] | undefined {
  if (environment.CI) return undefined
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['cmd', '/c', 'start', '""', url]
  return environment.DISPLAY || environment.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined
}
