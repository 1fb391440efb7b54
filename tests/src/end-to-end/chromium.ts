/** A real Chromium for tests: headless, with a new empty profile, and told to keep to itself. */
import { type Browser, chromium } from 'playwright-core'
import { describe } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Whoever starts it closes it; its profile goes with it. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS })
}

/** A `describe` whose tests need Chromium: where that is left out they are skipped, and the reason is printed. */
export function describeInChromium(title: string, body: () => void): void {
  const reason = reasonToSkip('chromium')
  if (reason) console.warn(`Skipped: ${title}, because ${reason}.`)
  describe.skipIf(reason !== undefined)(title, body)
}
