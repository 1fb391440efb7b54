/** Blocks of code and tables can be reached by keyboard, so that they can be scrolled. Those that fit need not be. */
export function leaveOutWhatFits() {
  const observer = new ResizeObserver(entries => {
    for (const { target } of entries) update(target)
  })
  for (const area of document.querySelectorAll('.code pre, .table')) observer.observe(area)
}

function update(area) {
  if (area.scrollWidth > area.clientWidth) area.setAttribute('tabindex', '0')
  else area.removeAttribute('tabindex')
}
