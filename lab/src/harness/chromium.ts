/** A real Chromium: headless, with a new empty profile, and with background traffic switched off. */
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'

export const CHROMIUM_PATH: string = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The caller closes the browser. Its profile is removed with it. */
export function startChromium({ args = [], ...options }: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM_PATH, args: [...FLAGS, ...args], ...options })
}
