/** Search as one types, and the list of pages on a phone. Everything comes from this site; nothing is sent anywhere. */
import MiniSearch from './minisearch.js'

const root = document.querySelector('script[data-root]').dataset.root
const input = document.querySelector('#search')
const found = document.querySelector('#found')
const menu = document.querySelector('#menu')
const FIELDS = ['heading', 'title', 'text']
const SHOWN_MAX = 12
const EXCERPT_LENGTH = 140
let index

menu.addEventListener('click', () => {
  const isOpen = document.body.classList.toggle('menu-open')
  menu.setAttribute('aria-expanded', String(isOpen))
})

document.addEventListener('keydown', event => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault()
    input.focus()
  }
  if (event.key === 'Escape') hide()
})

input.addEventListener('focus', load)
input.addEventListener('input', show)
input.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') found.querySelector('a')?.focus()
  if (event.key === 'Enter') found.querySelector('a')?.click()
})
found.addEventListener('keydown', event => {
  const links = [...found.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === 'ArrowDown') links[at + 1]?.focus()
  if (event.key === 'ArrowUp') (links[at - 1] ?? input).focus()
})

function load() {
  index ??= fetch(`${root}/assets/search-index.json`)
    .then(answer => answer.text())
    .then(text => MiniSearch.loadJSON(text, { fields: FIELDS, storeFields: ['title', 'heading', 'url', 'text'] }))
  return index
}

async function show() {
  const words = input.value.trim()
  if (words === '') return hide()
  const results = (await load()).search(words, {
    prefix: true,
    fuzzy: 0.15,
    boost: { heading: 4, title: 3 },
    combineWith: 'AND',
  })
  if (input.value.trim() !== words) return
  found.replaceChildren(...results.slice(0, SHOWN_MAX).map(item))
  if (results.length === 0)
    found.append(Object.assign(document.createElement('li'), { textContent: 'Nothing was found.' }))
  found.hidden = false
}

function item({ title, heading, url, text, terms }) {
  const link = document.createElement('a')
  link.href = `${root}/${url}`
  link.append(
    Object.assign(document.createElement('b'), {
      textContent: heading && heading !== title ? `${title}: ${heading}` : title,
    }),
  )
  link.append(Object.assign(document.createElement('span'), { textContent: excerpt(text, terms) }))
  link.addEventListener('click', hide)
  const entry = document.createElement('li')
  entry.append(link)
  return entry
}

/** Around the first word that was looked for. */
function excerpt(text, terms) {
  const places = terms.map(term => text.toLowerCase().indexOf(term)).filter(place => place !== -1)
  const from = Math.max(0, Math.min(...places, text.length) - EXCERPT_LENGTH / 3)
  return `${from > 0 ? '… ' : ''}${text.slice(from, from + EXCERPT_LENGTH)}`
}

function hide() {
  found.hidden = true
}
