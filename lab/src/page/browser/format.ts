/** Formats numbers for this page. */
const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export function formatCount(count: number): string {
  return grouped.format(count)
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB']
  return `${size.toFixed(size < 10 ? 2 : 1)} ${unit}`
}

/** "3.4 million" suits a speed that varies better than "3,412,969". */
export function formatSpeed(perSecond: number): string {
  if (perSecond >= 1e6) return `${(perSecond / 1e6).toFixed(1)} million`
  return formatCount(Number(perSecond.toPrecision(2)))
}

/** A measured share with its margin, to the first digit that the margin makes uncertain. */
export function formatMeasured(share: number, margin: number): string {
  const decimals = margin > 0 ? Math.max(0, -Math.floor(Math.log10(margin * 100))) : 2
  return `${(share * 100).toFixed(decimals)}% ± ${(margin * 100).toFixed(decimals)}%`
}
