import { expect, test } from 'vitest'
import { completeSettings, DEFAULT_SETTINGS } from './server-settings.js'

test('a setting that is not given has its default', () => {
  expect(completeSettings({ lifetimeMs: 5000 })).toEqual({ ...DEFAULT_SETTINGS, lifetimeMs: 5000 })
})

test.each([
  [{ lifetimeMs: -1 }, 'lifetimeMs must be a whole number, at least 0, not -1'],
  [{ bodyBytesMax: 0 }, 'bodyBytesMax must be a whole number, at least 1, not 0'],
  [{ slotMs: 1.5 }, 'slotMs must be'],
  [{ corsOrigins: ['shop.example'] }, 'corsOrigins must be "auto", "*" or a list of origins'],
  [{ mayKeep: 1 as unknown as boolean }, 'mayKeep must be true or false'],
  [{ falsePositiveRateMax: 1 }, 'falsePositiveRateMax must be between 0 and 1'],
  [{ lifetimeMs: 10, lifetimeMsMax: 5 }, 'lifetimeMs (10) must not be more than lifetimeMsMax (5)'],
  [{ bodyByteMax: 5 } as object, 'There is no setting bodyByteMax'],
])('%j is refused, and the message names the setting', (settings, message) => {
  expect(() => completeSettings(settings)).toThrow(message)
})
