/** Search as one types: results below the box, the best first, each with the words that were found. */
import MiniSearch from 'minisearch'
import { excerptOf } from './search/excerpt.js'
import { findSections, INDEX_OPTIONS } from './search/find.js'

const root = new URL('..', import.meta.url)
const input = document.querySelector('#search')
const panel = document.querySelector('#found')
const count = document.querySelector('#found-count')
const SHOWN_MAX = 20
let index

export function startSearch() {
  // A failure is shown when there is something to search for.
  input.addEventListener('focus', () => load().catch(() => {}))
  input.addEventListener('click', show)
  input.addEventListener('input', show)
  input.addEventListener('keydown', event => {
    const first = panel.hidden ? undefined : panel.querySelector('a')
    if (event.key === 'ArrowDown') moveTo(first, event)
    if (event.key === 'Enter') first?.click()
  })
  panel.addEventListener('keydown', moveInPanel)
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape' && !panel.hidden) {
      hide()
      input.focus()
    }
    if (event.key === '/' && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== input) {
      event.preventDefault()
      input.select()
    }
  })
  document.addEventListener('pointerdown', event => {
    if (!event.target.closest('search')) hide()
  })
  document.querySelector('search').addEventListener('focusout', event => {
    if (event.relatedTarget && !event.relatedTarget.closest('search')) hide()
  })
}

function moveInPanel(event) {
  const links = [...panel.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === 'ArrowDown') moveTo(links[at + 1], event)
  if (event.key === 'ArrowUp') moveTo(links[at - 1] ?? input, event)
  if (event.key === 'Home') moveTo(links[0], event)
  if (event.key === 'End') moveTo(links.at(-1), event)
}

function moveTo(element, event) {
  if (!element) return
  event.preventDefault()
  element.focus()
}

function load() {
  index ??= fetch(new URL('assets/search-index.json', root))
    .then(answer => {
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`)
      return answer.text()
    })
    .then(text => MiniSearch.loadJSON(text, INDEX_OPTIONS))
  return index
}

async function show() {
  const typed = input.value.trim()
  if (typed === '') return hide()
  let found
  try {
    found = findSections(await load(), typed)
  } catch (error) {
    index = undefined
    return say(`The search could not be loaded: ${error.message}`)
  }
  // The reader has typed on.
  if (input.value.trim() !== typed) return
  if (found.length === 0) return say(`Nothing matches “${typed}”. Try another word, or choose a page from the list.`)
  const list = document.createElement('ol')
  list.append(...found.slice(0, SHOWN_MAX).map(item))
  say(summary(found.length), list)
}

function summary(total) {
  if (total > SHOWN_MAX) return `The best ${SHOWN_MAX} of ${total} results`
  return total === 1 ? '1 result' : `${total} results`
}

/** The panel for eyes, the status for screen readers, which read it out when it changes. */
function say(text, ...more) {
  count.textContent = text
  const line = Object.assign(document.createElement('p'), { textContent: text })
  line.setAttribute('aria-hidden', 'true')
  panel.replaceChildren(line, ...more)
  panel.scrollTop = 0
  panel.hidden = false
}

function item({ title, heading, url, text, terms }) {
  const link = document.createElement('a')
  link.href = new URL(url, root)
  const place = document.createElement('b')
  place.textContent = heading && heading !== title ? `${title}: ${heading}` : title
  const excerpt = document.createElement('span')
  excerpt.append(...excerptOf(text, terms).map(({ text, isHit }) => (isHit ? mark(text) : text)))
  link.append(place, excerpt)
  link.addEventListener('click', hide)
  const entry = document.createElement('li')
  entry.append(link)
  return entry
}

function mark(text) {
  return Object.assign(document.createElement('mark'), { textContent: text })
}

function hide() {
  panel.hidden = true
  count.textContent = ''
}
