/** A load given by a few points in time, with straight lines between them. */

export interface LoadPoint {
  readonly second: number
  readonly perSecond: number
}

export function loadAt(points: readonly LoadPoint[], second: number): number {
  const next = points.findIndex(point => point.second > second)
  if (next <= 0) return points.at(next === 0 ? 0 : -1)!.perSecond
  const [before, after] = [points[next - 1]!, points[next]!]
  const share = (second - before.second) / (after.second - before.second)
  return before.perSecond + share * (after.perSecond - before.perSecond)
}

const TICK_MS = 10

/** Calls `onOperation` for every operation and `onSample` every `sampleMs`, ordered by time. */
export function runLoad(
  points: readonly LoadPoint[],
  sampleMs: number,
  handlers: { onOperation(id: number, nowMs: number): void; onSample(nowMs: number): void },
): void {
  const endMs = points.at(-1)!.second * 1000
  let due = 0
  let id = 0
  for (let nowMs = 0; nowMs <= endMs; nowMs += TICK_MS) {
    for (due += (loadAt(points, nowMs / 1000) * TICK_MS) / 1000; due >= 1; due--) handlers.onOperation(id++, nowMs)
    if (nowMs % sampleMs === 0) handlers.onSample(nowMs)
  }
}
