/** The table: one row for each product, with the writer's controls and what each reader got. */
import type { AcknowledgedWrites } from './acknowledged-writes.js'
import { find, make, setText } from './page-elements.js'
import { newProduct, PRODUCT_IDS, type Product, priceText } from './products.js'
import type { Reading } from './reading.js'
import type { Source } from './tally.js'

export type ReaderName = 'plain' | 'fresh'

export interface ProductRow {
  /** Shows the latest version that this page knows; older ones than the one shown are ignored. */
  showLatest(product: Product | undefined, version: number): void
  showReading(reader: ReaderName, reading: Reading, writes: AcknowledgedWrites, nowMs: number): void
}

/** Writes a product; shows its own failure. */
export type Write = (id: string, change: (product: Product) => Product) => Promise<void>

const DIGITS_MAX = 7
const DIGITS_SHOWN = 4

const SOURCE_TEXT: Readonly<Record<Source, string>> = {
  browser: 'browser cache',
  shared: 'shared cache',
  server: 'server',
}

export function mountProductRows(write: Write): ReadonlyMap<string, ProductRow> {
  const body = find('products', HTMLTableSectionElement)
  return new Map(PRODUCT_IDS.map(id => [id, mountRow(body, id, write)]))
}

function mountRow(body: HTMLTableSectionElement, id: string, write: Write): ProductRow {
  const writer = makeWriterCell(id, write)
  const readers = {
    plain: makeReaderCell('plain', 'Plain fetch'),
    fresh: makeReaderCell('fresh', 'Freshet'),
  }
  body.append(make('tr', { 'data-product': id }, writer.cell, readers.plain.cell, readers.fresh.cell))
  return {
    showLatest: writer.show,
    showReading: (reader, ...shown) => readers[reader].show(...shown),
  }
}

function makeWriterCell(id: string, write: Write) {
  const { name: label } = newProduct(id)
  const name = make('input', { type: 'text', 'aria-label': `Name of ${id}`, maxlength: '40', autocomplete: 'off' })
  const price = make('output', { 'aria-label': `Price of ${id}` })
  const step = (sign: 1 | -1) => {
    const text = sign === 1 ? 'Raise' : 'Lower'
    const button = make('button', { type: 'button', class: 'step', 'aria-label': `${text} the price of ${label}` })
    button.append(sign === 1 ? '+' : '−')
    button.addEventListener('click', () => write(id, old => ({ ...old, price: Math.max(0, old.price + sign) })))
    return button
  }
  name.addEventListener('change', () => write(id, old => ({ ...old, name: name.value })))
  const version = make('small')
  const prices = make('div', { class: 'price' }, step(-1), price, step(1))
  const cell = make('td', {}, make('div', { class: 'product' }, name, prices, version))
  let shownVersion = 0
  const show = (product: Product | undefined, latest: number) => {
    if (product && latest < shownVersion) return
    shownVersion = latest
    const shown = product ?? newProduct(id)
    // Do not overwrite what a visitor is typing.
    if (document.activeElement !== name) name.value = shown.name
    setText(price, priceText(shown))
    setText(version, latest === 0 ? 'not written yet: press +' : versionText(latest))
  }
  return { cell, show }
}

function makeReaderCell(reader: ReaderName, label: string) {
  const value = make('span', { class: 'value' }, '…')
  const badge = make('span', { class: 'badge' })
  const trace = make('small')
  const url = make('span', { class: 'url' })
  const shown = make('div', { class: 'shown' }, value, badge)
  const cell = make('td', { class: `${reader}-cell`, 'data-reader': label }, shown, trace, url)
  const show = (reading: Reading, writes: AcknowledgedWrites, nowMs: number) => {
    const { product, version, source, ageMs } = reading
    setText(value, product ? `${product.name} ${priceText(product)}` : 'not there')
    const missed = writes.firstMissed(reading.id, version)
    badge.dataset.tone = missed ? 'stale' : 'current'
    setText(badge, missed ? `stale for ${secondsText(nowMs - missed.timeMs)}` : 'current')
    setText(trace, `${versionText(version)} · ${secondsText(ageMs)} old · ${SOURCE_TEXT[source]}`)
    trace.title = `version ${version}`
    showUrl(url, reading.url)
  }
  return { cell, show }
}

/** A log may begin at a very high position; versions of one object differ in their last digits. */
function versionText(version: number): string {
  const digits = String(version)
  return digits.length > DIGITS_MAX ? `version …${digits.slice(-DIGITS_SHOWN)}` : `version ${digits}`
}

function secondsText(ms: number): string {
  return `${Math.max(0, Math.round(ms / 1000))} s`
}

function showUrl(element: HTMLElement, url: string): void {
  if (element.textContent === url) return
  const [path, query] = url.split('?')
  element.replaceChildren(path!, ...(query === undefined ? [] : [make('b', {}, `?${query}`)]))
}
