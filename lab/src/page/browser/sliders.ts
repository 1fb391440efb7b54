/**
 * Sliders beside number boxes. They go from `data-least` to `data-most` in equal ratios, which suits rates and sizes, and stop at
 * round numbers. The box takes any number. The box holds the value; the slider follows it.
 */
import { findInput, numberIn } from './page-elements.js'

export function linkSliders(): void {
  for (const slider of document.querySelectorAll<HTMLInputElement>('input[type=range][data-for]')) linkSlider(slider)
}

function linkSlider(slider: HTMLInputElement): void {
  const box = findInput(slider.dataset.for!)
  const least = Number(slider.dataset.least)
  const ratio = Number(slider.dataset.most) / least
  const steps = Number(slider.max)
  const follow = () => {
    const place = (Math.log(numberIn(box) / least) / Math.log(ratio)) * steps
    if (Number.isFinite(place)) slider.value = String(place)
    slider.ariaValueText = box.value
  }
  slider.addEventListener('input', () => {
    box.value = roundText(least * ratio ** (Number(slider.value) / steps))
    slider.ariaValueText = box.value
    box.dispatchEvent(new Event('input'))
  })
  box.addEventListener('input', follow)
  follow()
}

/** Two significant digits, without an exponent. */
function roundText(value: number): string {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(value)))
  return String(Number(Number(value.toPrecision(2)).toFixed(digits)))
}
