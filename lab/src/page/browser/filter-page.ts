/** The page's entry in the browser: reads or draws the seed of this visit, and starts the panels. */
import { mountFillPanel } from './fill-panel.js'
import { mountForgetPanel } from './forget-panel.js'
import { find } from './page-elements.js'
import { linkSliders } from './sliders.js'
import { mountTryPanel } from './try-panel.js'

const SEED_LIMIT = 2 ** 32

function seedOfVisit(): number {
  const asked = new URLSearchParams(location.search).get('seed') ?? ''
  return /^\d{1,15}$/.test(asked) ? Number(asked) : Math.floor(Math.random() * SEED_LIMIT)
}

function showSeed(seed: number): void {
  const link = find('seed-link', HTMLAnchorElement)
  link.textContent = String(seed)
  link.href = `?seed=${seed}`
}

const seed = seedOfVisit()
showSeed(seed)
linkSliders()
mountFillPanel(seed)
mountForgetPanel(seed)
mountTryPanel()
