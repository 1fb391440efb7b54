/** Light or dark: as the system has it, or as the user chose here. */
import { type ReadonlySignal, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const NAME = 'freshet-console-theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const chosen = signal<Theme>(THEMES.find(each => each === localStorage.getItem(NAME)) ?? 'system')
apply()

/** Also changes when the system does. */
export const theme: ReadonlySignal<Theme> = chosen
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  const now = chosen.value
  chosen.value = now === 'system' ? 'light' : 'system'
  chosen.value = now
})

export function nextTheme(): void {
  chosen.value = THEMES[(THEMES.indexOf(chosen.value) + 1) % THEMES.length]!
  localStorage.setItem(NAME, chosen.value)
  apply()
}

function apply(): void {
  document.documentElement.dataset.theme = chosen.value
}
