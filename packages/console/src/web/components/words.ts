/** Numbers and times as people read them. */
const MS_PER = { s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** 850 ms, 12 s, 3 min, 5 h, 2 d */
export function duration(ms: number): string {
  if (ms < MS_PER.s) return `${ms < 10 ? Number(ms.toPrecision(2)) : Math.round(ms)} ms`
  if (ms < MS_PER.min) return `${Number((ms / MS_PER.s).toPrecision(2))} s`
  if (ms < 2 * MS_PER.h) return `${Math.round(ms / MS_PER.min)} min`
  if (ms < 2 * MS_PER.d) return `${Math.round(ms / MS_PER.h)} h`
  return `${Math.round(ms / MS_PER.d)} d`
}

export function count(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })
}

/** 850 B, 12 kB, 3.4 MB */
export function bytes(value: number): string {
  if (value < 1000) return `${Math.round(value)} B`
  const [unit, size] = value < 1e6 ? (['kB', value / 1e3] as const) : (['MB', value / 1e6] as const)
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`
}

/** A share from 0 to 1 as text: 0.12 %, 3.4 %, 57 % */
export function percent(share: number): string {
  const value = 100 * share
  return `${value < 10 ? Number(value.toPrecision(2)) : Math.round(value)} %`
}

export function timeOfDay(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB')
}

/** A value in one line, cut if it is long. */
export function brief(value: unknown, lengthMax = 140): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}
