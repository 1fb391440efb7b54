/** Areas that scroll sideways when they are wider than the screen. */
const FOCUSED = '.code pre, .table'
const FADED = 'figure'

export function watchScrollAreas() {
  const observer = new ResizeObserver(entries => {
    for (const { target } of entries) update(target)
  })
  for (const area of document.querySelectorAll(`${FOCUSED}, ${FADED}`)) observer.observe(area)
  for (const area of document.querySelectorAll(FADED)) {
    area.addEventListener('scroll', () => update(area), { passive: true })
  }
}

/**
 * Code and tables can be reached by keyboard, so that they can be scrolled. Those that fit need not be. A picture contains a link,
 * which can be reached; it fades where there is more of it.
 */
function update(area) {
  const { scrollWidth, clientWidth, scrollLeft } = area
  if (area.matches(FADED)) area.classList.toggle('continues', scrollLeft + clientWidth < scrollWidth - 1)
  else if (scrollWidth > clientWidth) area.setAttribute('tabindex', '0')
  else area.removeAttribute('tabindex')
}
