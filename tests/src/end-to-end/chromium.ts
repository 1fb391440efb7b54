/** Tests in a real Chromium. */
import { startChromium } from '@freshet/lab/dist/harness/chromium.js'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { reasonToSkip } from '../runner/services.js'

export { startChromium }

/** A browser for all tests of a `describe`, ready from the first test on. */
export function useChromium(): { readonly browser: Browser } {
  const used = {} as { browser: Browser }
  beforeAll(async () => {
    used.browser = await startChromium()
  })
  afterAll(() => used.browser?.close())
  return used
}

/** Checks that every such control has a name for screen readers, and that the page fits a phone. */
export async function expectUsable(page: Page, controls: string): Promise<void> {
  await page.setViewportSize({ width: 360, height: 740 })
  const nameless = await page.evaluate(
    selector =>
      [...document.querySelectorAll(selector)]
        .filter(control => !control.ariaLabel && !(control as HTMLInputElement).labels?.length)
        .filter(control => !control.textContent?.trim())
        .map(control => control.outerHTML),
    controls,
  )
  expect(nameless).toEqual([])
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
}

/** A `describe` whose tests need Chromium: without it they are skipped, and the reason is printed. */
export function describeInChromium(title: string, body: () => void): void {
  const reason = reasonToSkip('chromium')
  if (reason) console.warn(`Skipped: ${title}, because ${reason}.`)
  describe.skipIf(reason !== undefined)(title, body)
}
