/** The list of pages and the contents of a page: open beside the text, folded above it where the screen is narrow. */
export function foldOnNarrowScreens() {
  const menu = document.querySelector('.menu')
  for (const details of document.querySelectorAll('[data-folded]')) {
    const narrow = matchMedia(details.dataset.folded)
    narrow.addEventListener('change', () => {
      details.open = !narrow.matches
    })
    // Links within the page: the contents would cover what the reader has asked for.
    details.addEventListener('click', event => {
      if (narrow.matches && event.target.closest('a')) details.open = false
    })
  }
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || !menu.open || !matchMedia(menu.dataset.folded).matches) return
    menu.open = false
    menu.querySelector('summary').focus()
  })
  showCurrentPage(menu)
}

/** Scrolls the list alone, never the page. */
function showCurrentPage(menu) {
  const current = menu.querySelector('[aria-current]')
  const list = menu.closest('nav')
  if (!current) return
  const below = current.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom
  if (below > 0) list.scrollTop += below + list.clientHeight / 2
}
